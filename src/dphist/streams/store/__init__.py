"""The file that holds the secret state of a stream."""
