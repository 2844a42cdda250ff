"""What every user needs: capture, ledger, ingestion, memory bases, search, context, the log with its views, keys.

It names no feature: features add to it by the hooks of extension.py.
"""
