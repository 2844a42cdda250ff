"""Signatures against the example of the Standard Webhooks libraries, and against the Python library itself."""

from __future__ import annotations

import base64
import time

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from memorybase.features.webhooks import signatures

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = '{"test": 2432232314}'


def test_the_signature_of_the_specifications_example() -> None:
    signed = signatures.sign(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, BODY)
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_receiver_with_the_reference_library_accepts_a_request() -> None:
    secret = signatures.new_secret()
    sent = signatures.headers([secret], "an-id", int(time.time()), BODY)
    assert Webhook(secret).verify(BODY, sent) == {"test": 2432232314}
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(BODY + " ", sent)


def test_during_a_rotation_receivers_with_either_secret_accept_a_request() -> None:
    new, former, other = (signatures.new_secret() for _ in range(3))
    sent = signatures.headers([new, former], "an-id", int(time.time()), BODY)
    assert len(sent["webhook-signature"].split(" ")) == 2
    for secret in (new, former):
        Webhook(secret).verify(BODY, sent)
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(BODY, sent)


def test_a_new_secret_has_the_specifications_form_and_length() -> None:
    secret = signatures.new_secret()
    assert secret.startswith("whsec_")
    assert 24 <= len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) <= 64
    assert secret != signatures.new_secret()
