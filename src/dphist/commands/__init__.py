"""The commands of the command line, a file or folder each; `dphist.cli` calls them."""
