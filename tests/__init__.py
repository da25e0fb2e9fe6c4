"""Tests; a regular package, because other distributions install a package of this name too."""
