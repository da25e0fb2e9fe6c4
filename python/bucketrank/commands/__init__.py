"""The commands of the command line: each module adds one parser and runs the command."""
