"""Five minutes with Posable: a skeleton, its poses, and where its joints are."""

print("hello")
