"""The recorded calls, one module a room. The name of a module is the folder of tests that it belongs to."""
