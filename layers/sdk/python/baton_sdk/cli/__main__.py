"""``python -m baton_sdk.cli`` is ``baton``."""

from baton_sdk.cli.app import main

if __name__ == "__main__":
    main()
