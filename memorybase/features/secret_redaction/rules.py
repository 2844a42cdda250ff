"""Keys that have a shape of their own. Each rule names where its maker documents the shape, or what reads it.

A rule runs only in texts with one of its `literals`. Patterns are ASCII, so a key also begins and ends beside text
without spaces, as in Chinese. Repetitions are bounded and give nothing back, so no text makes a pattern slow.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from typing import NamedTuple

_BEFORE, _AFTER = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_])"
_REPEATED = re.compile(r"(\{\d+,\d+\})")


class Rule(NamedTuple):
    """A kind of secret. The group `s` of the pattern is the secret, else all of it; `accepts` has the last word."""

    kind: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool]


def _any(_: str) -> bool:
    return True


def _rule(
    kind: str, literals: str, pattern: str, accepts: Callable[[str], bool] = _any, *, bounded: bool = True
) -> Rule:
    pattern = _REPEATED.sub(r"\1+", pattern)
    whole = f"{_BEFORE}(?:{pattern}){_AFTER}" if bounded else pattern
    return Rule(kind, tuple(literals.split()), re.compile(whole, re.ASCII), accepts)


def _mixes(text: str) -> bool:
    """A key of random characters has digits and letters; a word with underscores in code has not."""
    return any(each.isdigit() for each in text) and any(each.isalpha() for each in text)


def _is_jwt(text: str) -> bool:
    """Whether the first part is the header of a JSON Web Token (RFC 7519): an object with `alg` or `typ`."""
    header = _decoded(text.partition(".")[0])
    try:
        return isinstance(found := json.loads(header), dict) and bool({"alg", "typ", "enc"} & found.keys())
    except (ValueError, RecursionError):
        return False


def _is_discord(text: str) -> bool:
    """The first part of a bot's token is its id, a number."""
    return _decoded(text.partition(".")[0]).isdigit()


def _decoded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, binascii.Error):
        return b""


RULES = (
    # docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-prefixes
    _rule("aws-access-key-id", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    # github.blog/2021-04-05-behind-githubs-new-authentication-token-formats
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _rule("github-token", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    # docs.gitlab.com/security/tokens/#token-prefixes
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glft- glcbt- gloas- glsoat- glimt- glagent-",
        r"gl(?:pat|dt|rt|ptt|ft|cbt|oas|soat|imt|agent)-[A-Za-z0-9_-]{20,300}(?:\.[A-Za-z0-9_-]{2,80}){0,3}",
    ),
    # api.slack.com/authentication/token-types; the webhook: api.slack.com/messaging/webhooks
    _rule("slack-token", "xox", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,250}", _mixes),
    _rule("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9]{8,20}-\d{8,20}-[a-f0-9]{40,80}"),
    _rule(
        "slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[\w/+-]{30,120})"
    ),
    # docs.stripe.com/keys, docs.stripe.com/webhooks, and standardwebhooks.com for others that sign so
    _rule("stripe-key", "_live_ _test_", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,250}"),
    _rule("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{24,88}={0,2}", _mixes),
    # platform.openai.com/docs/api-reference/authentication; openrouter.ai/docs/api-reference/authentication
    _rule("openai-key", "sk-", r"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,250}|[A-Za-z0-9]{40,64})", _mixes),
    _rule("openrouter-key", "sk-or-", r"sk-or-v1-[0-9a-f]{64}"),
    _rule("anthropic-key", "sk-ant-", r"sk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_-]{40,200}"),
    _rule("langfuse-key", "sk-lf-", r"sk-lf-[0-9a-f-]{36}"),
    # cloud.google.com/docs/authentication/api-keys; developers.google.com/identity/protocols/oauth2
    _rule("google-api-key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _rule("google-oauth-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _rule("google-access-token", "ya29.", r"ya29\.[A-Za-z0-9_-]{30,2000}"),
    # huggingface.co/docs/hub/security-tokens; console.groq.com/keys; replicate.com/docs; docs.perplexity.ai; docs.x.ai
    _rule("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{34,40}"),
    _rule("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{52}"),
    _rule("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _rule("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,60}", _mixes),
    _rule("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,90}"),
    # docs.npmjs.com/about-access-tokens; pypi.org/help/#apitoken; guides.rubygems.org/api-key-scopes
    _rule("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _rule("pypi-token", "pypi-", r"pypi-[A-Za-z0-9_-]{80,2000}"),
    _rule("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    # www.twilio.com/docs/iam/api-keys; www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys
    _rule("twilio-key", "SK", r"SK[0-9a-f]{32}"),
    _rule("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    # documentation.mailgun.com; mailchimp.com/developer/marketing/docs/fundamentals
    _rule("mailgun-key", "key-", r"key-[0-9a-f]{32}"),
    _rule("mailchimp-key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    # core.telegram.org/bots/api#authorizing-your-bot; discord.com/developers/docs/reference#authentication
    _rule("telegram-token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{32,33}"),
    _rule("discord-token", "M N O", r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}", _is_discord),
    _rule(
        "discord-webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{15,22}/(?P<s>[A-Za-z0-9_-]{60,80})"
    ),
    # docs.digitalocean.com/reference/api; docs.databricks.com/dev-tools/auth/pat; shopify.dev/docs/apps/auth
    _rule("digitalocean-token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _rule("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d{1,2})?"),
    _rule("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-f]{32}"),
    _rule("square-token", "sq0 EAAA", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,43}|EAAA[A-Za-z0-9_-]{60}"),
    # linear.app/developers; developers.notion.com/docs/authorization; developer.atlassian.com; figma.com/developers/api
    _rule("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _rule("notion-token", "secret_ ntn_", r"(?:secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{40,50})", _mixes),
    _rule("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{50,250}"),
    _rule("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{40,60}"),
    # airtable.com/developers/web/guides/personal-access-tokens; learning.postman.com/docs/developer/postman-api
    _rule("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _rule("postman-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    # docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys; grafana.com/docs; docs.sentry.io/account/auth-tokens
    _rule("newrelic-key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _rule("grafana-token", "glsa_ glc_", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{40,400}={0,2}"),
    _rule("sentry-token", "sntrys_ sntryu_", r"sntryu_[0-9a-f]{64}|sntrys_[A-Za-z0-9+/=_-]{60,400}"),
    # developer.hashicorp.com/vault/docs/concepts/tokens; developer.hashicorp.com/terraform/cloud-docs/api-docs
    _rule("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{24,200}", _mixes),
    _rule("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,70}"),
    # docs.docker.com/security/access-tokens; pulumi.com/docs; planetscale.com/docs; supabase.com/docs/guides/api
    _rule("docker-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[A-Za-z0-9_-]{27,40}"),
    _rule("pulumi-token", "pul-", r"pul-[0-9a-f]{40}"),
    _rule("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_-]{32,64}", _mixes),
    _rule("supabase-key", "sb_secret_ sbp_", r"sb_secret_[A-Za-z0-9_-]{20,60}|sbp_[0-9a-f]{40}"),
    # devcenter.heroku.com/articles/authentication; fly.io/docs/security/tokens; docs.doppler.com; buildkite.com/docs
    _rule("heroku-key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,70}", _mixes),
    _rule("fly-token", "fm1 fm2", r"fm[12][ar]?_[A-Za-z0-9+/=_-]{60,800}"),
    _rule("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    _rule("buildkite-token", "bkua_", r"bkua_[0-9a-f]{40}"),
    _rule("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36}"),
    _rule("contentful-token", "CFPAT-", r"CFPAT-[A-Za-z0-9_-]{43}"),
    # Azure: learn.microsoft.com/azure/storage/common/storage-configure-connection-string, and create-service-sas
    _rule("azure-storage-key", "AccountKey=", r"AccountKey=(?P<s>[A-Za-z0-9+/]{86}==)", bounded=False),
    _rule("azure-sas", "sig=", r"[?&;]sig=(?P<s>[A-Za-z0-9%+/]{40,90}={0,2})", _mixes, bounded=False),
    # github.com/FiloSottile/age; api_keys.py and state.py of this project
    _rule("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _rule("memorybase-key", "mb_", r"mb_[A-Za-z0-9_-]{43}", _mixes),
    # RFC 7519
    _rule("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,1000}", _is_jwt),
)
