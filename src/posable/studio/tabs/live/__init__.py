"""The tab Live: tracked points in, a body out, while somebody moves."""
