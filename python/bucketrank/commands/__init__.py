"""The commands of the command line, one file each: a parser of its options and what it runs."""
