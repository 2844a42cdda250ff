"""The errors of webhooks."""

from __future__ import annotations

from memorybase.core import errors


class AddressRefused(errors.InvalidRequest):
    """This URL leads to an address that may not be called."""

    code = "address_refused"


class WebhookDisabled(errors.Conflict):
    """The webhook is disabled, so nothing is sent to it. Enable it with PATCH /webhooks/{id} and {"enabled": true}."""

    code = "webhook_disabled"
