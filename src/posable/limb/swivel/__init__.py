"""Preferred swivels: where people hold an elbow or a knee."""
