import base64
import hashlib
import hmac
import time

# Older deliveries are refused, so that a recorded one cannot be replayed.
TOLERANCE_SECONDS = 300


def is_from_spotcheck(body: bytes, headers, secret: str) -> bool:
    """Whether a request came from Spotcheck: both of its signatures are good, and it is not old.

    body: the raw bytes; headers: request.headers, whose get() ignores case; secret: all of it, whsec_ included.
    """
    # For 24 hours after a change of the secret the previous one signs as well.
    own = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    given = [headers.get("X-Service-Signature"), headers.get("X-Service-Signature-Previous")]
    if not any(is_equal(signature, own) for signature in given):
        return False

    timestamp = headers.get("webhook-timestamp") or ""
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers.get('webhook-id')}.{timestamp}.".encode() + body
    standard = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(is_equal(signature, standard) for signature in (headers.get("webhook-signature") or "").split(" "))


def is_equal(given, expected: str) -> bool:
    return hmac.compare_digest((given or "").encode(), expected.encode())
