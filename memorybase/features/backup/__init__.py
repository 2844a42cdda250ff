"""Backups of the embedded stack, and their restore.

    commands            `memorybase backup`; commands_take: a copy of the data while the stack runs
    commands_restore    `memorybase restore`; commands_directory: a backup into a data directory
    manifest            what a backup holds, with checksums
    vectors             the vectors that serve, into files
    repair              make the store follow SQL after a restore

The stack completes a restore that was cut off, and its sweeper runs the repair. Ingestion uses the saved vectors.
"""

from __future__ import annotations
