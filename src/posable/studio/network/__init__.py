"""The studio on the network: who may talk to it, and what it takes from them."""
