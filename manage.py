#!/usr/bin/env python
"""Django's command-line entry point for the studio."""

import json
import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "eqstudio.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        if "--json" in sys.argv:
            sys.stdout.write(json.dumps({"error": str(error), "field": None}) + "\n")
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
