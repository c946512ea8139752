"""Human motion on humanoid robots: within joint limits and motors' speeds, on feet that stand, without self-collision."""
