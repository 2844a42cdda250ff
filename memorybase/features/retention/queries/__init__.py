"""Every statement of retention.

expired    rules that are due, what has expired by them, and dry runs
holds      legal holds, and what they keep
uses       memory uses whose run is due, and old ones
copies     copies of deleted messages whose time is over
receipts   what each pass deleted
"""

from __future__ import annotations
