"""Credentials that a vendor's format marks: a prefix, a suffix or a place between two dots.

A row is found by a plain substring first, so that text without it costs a fraction of a microsecond a row. Formats as
vendors document them and as gitleaks and trufflehog list them; public keys and identifiers are left out. Forms that
identifiers and checksums share (a common word and a UUID, say) count only where the vendor is named or a key is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mnemesh_memory.secret_values import entropy, holds_placeholder

_EDGE: Final = r"(?<![A-Za-z0-9])"
_END: Final = r"(?![A-Za-z0-9])"
# A digit and a capital among the next characters, where the prefix alone could begin a word or a name.
_MIXED: Final = r"(?=[A-Za-z_-]{0,60}\d)(?=[a-z0-9_-]{0,60}[A-Z])"
# Every format below holds such a run, and little prose does.
_RUN: Final = re.compile(r"[A-Za-z0-9_+/%~-]{16}")
_GIVEN_AS_KEY: Final = re.compile(
    r"(?:(?:api|sdk|access|auth|private|secret|client|app)[ _-]?key|token|secret)[\"'`]?(?:\s(?:is|was))?[\s:=]{1,3}"
    r"[\"'`]?[0-9a-f]{0,32}$",
    re.IGNORECASE,
)
_GIVEN_CHARS: Final = 80


def find_token(text: str) -> str | None:
    """The type of a credential of a known format, for example "GitHub token"; None when `text` holds none."""
    if not _RUN.search(text):
        return None
    near = [token for anchor, token in _BY_ANCHOR if anchor in text]
    return next((token.type for token in near if token.accepts(text)), None)


@dataclass(frozen=True, slots=True)
class _Token:
    type: str
    anchor: str
    pattern: re.Pattern[str]
    inside: bool  # whether a match begins before its anchor, so that all of the text is searched
    least_entropy: float
    vendor: str  # a word in lower case, for a form that alone says too little
    random: bool  # all of it is, so that what looks like a word in it is chance

    def accepts(self, text: str) -> bool:
        """Whether a match is there that is no stand-in; a run of one character or of words is one."""
        matches = self.pattern.finditer(text) if self.inside else self._at_anchors(text)
        named = not self.vendor or self.vendor in text.lower()
        return any(
            entropy(match.group(1)) >= self.least_entropy
            and (self.random or not holds_placeholder(match.group(1)))
            and (named or _GIVEN_AS_KEY.search(text, max(0, match.start() - _GIVEN_CHARS), match.start()))
            for match in matches
        )

    def _at_anchors(self, text: str) -> Iterator[re.Match[str]]:
        at = text.find(self.anchor)
        while at >= 0:
            match = self.pattern.match(text, at)
            if match:
                yield match
            at = text.find(self.anchor, match.end() if match else at + 1)


def _token(
    type_: str,
    anchor: str,
    body: str,
    prefix: str = "",
    *,
    edge: str = _EDGE,
    end: str = _END,
    inside: bool = False,
    least: float = 2.8,
    vendor: str = "",
    random: bool = False,
) -> _Token:
    pattern = re.compile(edge + (prefix or re.escape(anchor)) + f"({body})" + end)
    return _Token(type_, anchor, pattern, inside, least, vendor, random)


_TOKENS: Final = (
    _token("Mnemesh token", "mnm_", r"[A-Za-z0-9_-]{43}", least=4.0, random=True),
    _token("AWS access key", "AKIA", r"[A-Z0-9]{16}"),
    _token("AWS access key", "ASIA", r"[A-Z0-9]{16}"),
    _token("GitHub token", "ghp_", r"[A-Za-z0-9]{30,255}"),
    _token("GitHub token", "gho_", r"[A-Za-z0-9]{30,255}"),
    _token("GitHub token", "ghs_", r"[A-Za-z0-9]{30,255}"),
    _token("GitHub token", "ghu_", r"[A-Za-z0-9]{30,255}"),
    _token("GitHub token", "ghr_", r"[A-Za-z0-9]{30,255}"),
    _token("GitHub token", "github_pat_", r"[A-Za-z0-9_]{40,255}"),
    _token("Slack token", "xox", r"[A-Za-z0-9-]{20,255}", r"xox[abeoprs](?:\.xox[bp])?-"),
    _token("Slack token", "xapp-", r"[0-9A-Za-z-]{30,255}"),
    _token("Stripe key", "k_live_", r"[A-Za-z0-9]{16,255}", r"[sr]k_live_", inside=True),
    _token("Stripe key", "k_test_", r"[A-Za-z0-9]{16,255}", r"[sr]k_test_", inside=True),
    _token("Stripe webhook secret", "whsec_", r"[A-Za-z0-9+/]{24,255}"),
    _token("Google API key", "AIza", r"[A-Za-z0-9_-]{35}"),
    _token("Google OAuth token", "ya29.", r"[A-Za-z0-9_-]{24,2000}"),
    _token("Google OAuth secret", "GOCSPX-", r"[A-Za-z0-9_-]{20,40}"),
    _token("Anthropic key", "sk-ant-", r"[A-Za-z0-9_-]{24,255}"),
    _token("OpenAI key", "sk-", r"(?=[A-Za-z0-9_-]{0,40}\d)(?=[A-Za-z0-9_-]{0,60}[A-Z])[A-Za-z0-9_-]{20,255}",
           r"sk-(?:proj-|svcacct-|admin-|None-)?"),
    _token("OpenRouter key", "sk-or-v1-", r"[0-9a-f]{48,64}"),
    _token("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-", r"[A-Za-z0-9_-]{50,1000}", r"pypi-AgE"),
    _token("SendGrid key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _token("Twilio key", "SK", r"[0-9a-f]{32}"),
    _token("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,40}"),
    _token("DigitalOcean token", "_v1_", r"[0-9a-f]{64}", r"do[opr]_v1_", inside=True),
    _token("Shopify token", "shp", r"[0-9a-fA-F]{32}", r"shp(?:at|ca|pa|ss)_"),
    _token("Databricks token", "dapi", r"[0-9a-f]{32}(?:-\d)?"),
    _token("Grafana token", "glsa_", r"[A-Za-z0-9]{30,40}_[0-9a-f]{8}"),
    _token("Groq key", "gsk_", r"[A-Za-z0-9]{40,60}"),
    _token("Replicate token", "r8_", r"[A-Za-z0-9]{36,40}"),
    _token("xAI key", "xai-", r"[A-Za-z0-9]{60,90}"),
    _token("Notion token", "ntn_", r"[A-Za-z0-9]{40,60}"),
    _token("Atlassian token", "ATATT3", r"[A-Za-z0-9_=-]{100,300}"),
    _token("Mailgun key", "key-", r"[0-9a-f]{32}", vendor="mailgun"),
    _token("age secret key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    _token("Azure storage key", "AccountKey=", r"[A-Za-z0-9+/]{60,88}={0,2}"),
    _token("GitLab token", "gl", r"[A-Za-z0-9_.-]{20,300}",
           r"gl(?:pat|dt|rt|rtr|ptt|ft|fft|ffct|soat|imt|cbt|oas|agent|feed|wt)-"),
    _token("GitLab token", "GR1348941", r"[A-Za-z0-9_-]{20}"),
    _token("Slack webhook", "hooks.slack.com/", r"[A-Z0-9]{8,}/[A-Z0-9]{8,}/(?:\d{12,20}/)?[A-Za-z0-9]{20,}",
           r"hooks\.slack\.com/(?:services|workflows|triggers)/"),
    _token("Discord webhook", "/webhooks/", r"\d{15,21}/[A-Za-z0-9_-]{40,100}",
           r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/", inside=True),
    _token("Discord bot token", ".", r"[A-Za-z0-9_-]{6}\." + _MIXED + r"[A-Za-z0-9_-]{27,45}",
           r"\.(?:(?<=[MNO][A-Za-z0-9_-]{23}\.)|(?<=[MNO][A-Za-z0-9_-]{25}\.)|(?<=[MNO][A-Za-z0-9_-]{27}\.))", edge=""),
    _token("Teams webhook", "/webhookb2/", r"[0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36}",
           r"webhook\.office\.com/webhookb2/", inside=True),
    _token("AWS Bedrock key", "ABSK", r"[A-Za-z0-9+/]{100,270}={0,2}"),
    _token("Google API key", "AQ.", r"[A-Za-z0-9_-]{40,60}", r"AQ\.Ab"),
    _token("Google refresh token", "1//", r"[A-Za-z0-9_-]{40,200}", r"1//0"),
    _token("Google storage key", "GOOG1E", r"[A-Z0-9]{50,60}"),
    _token("OpenAI key", "sk-", r"[0-9a-f]{32}(?:[0-9a-f]{16}|[0-9a-f]{32})?"),
    _token("Langfuse key", "sk-lf-", r"[0-9a-f-]{36}"),
    _token("ElevenLabs key", "sk_", r"[0-9a-f]{48}"),
    _token("Perplexity key", "pplx-", r"[A-Za-z0-9]{40,60}"),
    _token("Cerebras key", "csk-", r"[a-z0-9]{44,52}"),
    _token("Together key", "tgp_v1_", r"[A-Za-z0-9_-]{40,50}"),
    _token("NVIDIA key", "nvapi-", r"[A-Za-z0-9_-]{60,72}"),
    _token("Tavily key", "tvly-", r"[A-Za-z0-9]{28,40}", r"tvly-(?:dev-|prod-)?"),
    _token("Firecrawl key", "fc-", r"[0-9a-f]{32}", vendor="crawl"),
    _token("Pinecone key", "pcsk_", r"[A-Za-z0-9]{4,8}_[A-Za-z0-9]{50,72}"),
    _token("LangSmith key", "lsv2_", r"[0-9a-f]{32}_[0-9a-f]{10}", r"lsv2_(?:pt|sk)_"),
    _token("Resend key", "re_", _MIXED + r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,28}"),
    _token("Vault token", "hv", r"[A-Za-z0-9_-]{24,300}", r"hv[sbr]\."),
    _token("Vault token", "s.", _MIXED + r"[A-Za-z0-9]{24}(?![.(\w])"),
    _token("Kubernetes token", "--token", r"[a-z0-9]{6}\.[a-z0-9]{16}", r"--token[ =]", edge=""),
    _token("Terraform token", ".atlasv1.", r"[A-Za-z0-9_=-]{60,70}", r"[A-Za-z0-9]{14}\.atlasv1\.", inside=True),
    _token("Docker token", "dckr_", r"[A-Za-z0-9_-]{24,60}", r"dckr_[po]at_"),
    _token("Telegram bot token", ":AA", r"[A-Za-z0-9_-]{32,34}", r"\d{8,10}:AA", inside=True),
    _token("Mailgun key", "-", r"[0-9a-f]{8}-[0-9a-f]{8}", r"-(?<=[0-9a-f]{32}-)", edge="",
           vendor="mailgun"),
    _token("Mailchimp key", "-us", r"\d{1,2}", r"-us(?<=[0-9a-f]{32}-us)", edge="", least=0.0,
           vendor="mailchimp"),
    _token("Brevo key", "xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _token("Linear key", "lin_", r"[A-Za-z0-9]{32,72}", r"lin_(?:api|oauth|wh)_"),
    _token("Notion token", "secret_", _MIXED + r"[A-Za-z0-9]{43}"),
    _token("Bitbucket token", "ATBB", _MIXED + r"[A-Za-z0-9]{28,40}"),
    _token("Atlassian token", "ATCTT3", r"[A-Za-z0-9_=-]{100,300}"),
    _token("Square token", "sq0", r"[A-Za-z0-9_-]{22,50}", r"sq0(?:atp|csp|idb)-"),
    _token("Square token", "EAAA", _MIXED + r"[A-Za-z0-9_-]{60}"),
    _token("Facebook token", "EAA", _MIXED + r"[A-Za-z0-9]{90,300}", r"EAA[A-Z]"),
    _token("Twitter token", "AAAAAAAAAAAAAAAAAAAAA", _MIXED + r"[A-Za-z0-9%]{80,110}", r"A{21,23}"),
    _token("Cloudflare origin key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    _token("New Relic key", "NR", r"[A-Z0-9-]{27,42}", r"NR(?:AK|II|RA|BR)-"),
    _token("New Relic license", "NRAL", r"", r"[0-9a-f]{36}(?:FFFF)?NRAL", least=0.0, inside=True),
    _token("Sentry token", "sntrys_eyJ", r"[A-Za-z0-9+/=_-]{40,600}"),
    _token("Sentry token", "sntryu_", r"[0-9a-f]{64}"),
    _token("Supabase key", "sbp_", r"[0-9a-f]{40}", r"sbp_(?:v\d_)?"),
    _token("Supabase key", "sb_secret_", r"[A-Za-z0-9_-]{28,40}"),
    _token("Vercel token", "vercel_blob_rw_", r"[A-Za-z0-9]{16}_[A-Za-z0-9]{30,40}"),
    _token("Vercel token", "vc", _MIXED + r"[A-Za-z0-9]{24,60}", r"vc[pikar]_"),
    _token("Netlify token", "nf", r"[A-Za-z0-9]{36,40}", r"nf[pcobu]_"),
    _token("Figma token", "fig", r"[A-Za-z0-9_-]{40,60}", r"fig[dorh]_"),
    _token("Airtable token", "pat", r"[0-9a-f]{64}", r"pat[A-Za-z0-9]{14}\."),
    _token("Doppler token", "dp.", r"[A-Za-z0-9]{40,44}", r"dp\.(?:ct|pt|st|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?"),
    _token("Dynatrace token", "dt0", r"[A-Z0-9]{64}", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\."),
    _token("Fly token", "fo1_", r"[A-Za-z0-9_-]{40,48}"),
    _token("Fly token", "fm", r"[A-Za-z0-9+/=_-]{100,2000}", r"fm(?:1[ar]|2)_"),
    _token("Grafana token", "glc_", r"[A-Za-z0-9+/]{40,400}={0,3}"),
    _token("Pulumi token", "pul-", r"[0-9a-f]{40}"),
    _token("RubyGems key", "rubygems_", r"[0-9a-f]{48}"),
    _token("Postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("PlanetScale token", "pscale_", r"[A-Za-z0-9_.=-]{32,64}", r"pscale_(?:tkn|oauth|pw)_"),
    _token("Prefect key", "pn", r"[A-Za-z0-9]{36}", r"pn[ub]_"),
    _token("crates.io token", "cio", _MIXED + r"[A-Za-z0-9]{32}"),
    _token("Clojars token", "CLOJARS_", r"[0-9a-z]{60}"),
    _token("NuGet key", "oy2", r"(?=[a-z]{0,42}\d)[a-z0-9]{43}"),
    _token("SonarQube token", "sq", r"[0-9a-f]{40}", r"sq[upa]_"),
    _token("Sourcegraph token", "sgp_", r"[0-9a-f]{40}", r"sgp_(?:[0-9a-f]{16}_|local_)?"),
    _token("PostHog key", "phx_", r"[A-Za-z0-9_]{40,56}"),
    _token("HubSpot token", "pat-", r"[0-9a-f]{8}-[0-9a-f-]{27}", r"pat-(?:na|eu|ap)\d-"),
    _token("Alibaba key", "LTAI", _MIXED + r"[A-Za-z0-9]{16,24}"),
    _token("Artifactory key", "AKC", r"[A-Za-z0-9]{60,80}", r"AKCp"),
    _token("OpenShift token", "sha256~", r"[A-Za-z0-9_-]{43}"),
    _token("Dropbox token", "sl.", _MIXED + r"[A-Za-z0-9_-]{100,1200}", r"sl\.(?:u\.)?"),
    _token("EasyPost key", "EZ", r"[A-Za-z0-9]{54}", r"EZ[AT]K"),
    _token("Mapbox token", "sk.eyJ", r"[A-Za-z0-9_-]{20,200}\.[A-Za-z0-9_-]{20,30}"),
    _token("LaunchDarkly key", "sdk-", r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", vendor="launchdarkly"),
    _token("LaunchDarkly key", "api-", r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", vendor="launchdarkly"),
    _token("1Password token", "ops_eyJ", r"[A-Za-z0-9+/=_-]{200,2000}"),
    _token("Shippo token", "shippo_", r"[0-9a-f]{40}", r"shippo_(?:live|test)_"),
    _token("Buildkite token", "bk", r"[0-9a-f]{40}", r"bk(?:ua|at|aj)_"),
    _token("Neon key", "napi_", r"[a-z0-9]{60,70}"),
    _token("Render key", "rnd_", _MIXED + r"[A-Za-z0-9]{26,36}"),
    _token("CircleCI token", "CCI", r"[A-Za-z0-9]{20,24}_[0-9a-f]{40}", r"CCIP[AR]T_"),
    _token("Tailscale key", "tskey-", r"[A-Za-z0-9-]{20,80}"),
    _token("Deno token", "dd", _MIXED + r"[A-Za-z0-9]{36,40}", r"dd[pow]_"),
    _token("Flutterwave key", "FLWSECK", r"[0-9a-fA-F]{12,32}(?:-X)?", r"FLWSECK(?:_TEST|_LIVE)?-"),
    _token("Plaid token", "access-", r"[0-9a-f]{8}-[0-9a-f-]{27}", r"access-(?:sandbox|development|production)-"),
    _token("Asana token", "/", r"[0-9a-f]{32}", r"/(?<=[12]/)\d{15,17}(?:/\d{15,17})?:", edge="",
           vendor="asana"),
    _token("Octopus key", "API-", r"(?=[A-Z]{0,25}\d)[A-Z0-9]{26}", vendor="octopus"),
    _token("Snyk token", "snyk_uat.", r"[A-Za-z0-9_.-]{40,120}"),
    _token("Paddle key", "pdl_", r"[A-Za-z0-9_]{40,80}", r"pdl_(?:live|sdbx)_apikey_"),
    _token("Heroku key", "HRKU-", r"[A-Za-z0-9_-]{36,70}"),
    _token("Azure client secret", "Q~", r"\dQ~[A-Za-z0-9_~.-]{31,34}", r"[A-Za-z0-9_~.]{3}", inside=True),
    _token("Azure DevOps token", "AZDO", r"[A-Za-z0-9]{4}", r"[A-Za-z0-9]{76}AZDO", inside=True, least=0.0),
    _token("Azure signature", "sig=", r"[A-Za-z0-9%+/]{40,80}(?:%3[dD]|=)", r"(?<=[?&])sig="),
    # "-----BEGIN ... PRIVATE KEY" in base64, as in the files of Kubernetes.
    _token("private key", "LS0tLS1CRUdJTi", r"[A-Za-z0-9+/=]{40,100}",
           r"LS0tLS1CRUdJTi(?:BSU0EgUFJJ|BQUklW|BFQyBQUklW|BPUEVOU1NI|BFTkNSWVBU|BEU0EgUFJJ)[A-Za-z0-9+/=]{20}",
           end=""),
)  # fmt: skip
_BY_ANCHOR: Final = tuple((token.anchor, token) for token in _TOKENS)
