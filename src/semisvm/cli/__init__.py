"""The command line ``semisvm``: one file a command, heavy imports inside the commands."""
