<?php

// Older deliveries are refused, so that a recorded one cannot be replayed.
const TOLERANCE_SECONDS = 300;

/**
 * Reports whether a request came from Spotcheck: both of its signatures are good, and it is not old.
 * $body: file_get_contents('php://input'); $headers: getallheaders(); $secret: all of it, whsec_ included.
 */
function isFromSpotcheck(string $body, array $headers, string $secret): bool
{
    $headers = array_change_key_case($headers);
    // For 24 hours after a change of the secret the previous one signs as well.
    $own = 'sha256=' . hash_hmac('sha256', $body, $secret);
    $isOwnGood = hash_equals($own, $headers['x-service-signature'] ?? '')
        || hash_equals($own, $headers['x-service-signature-previous'] ?? '');
    if (!$isOwnGood) {
        return false;
    }

    $timestamp = $headers['webhook-timestamp'] ?? '';
    if (!preg_match('/^\d+$/D', $timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
    $signed = ($headers['webhook-id'] ?? '') . ".$timestamp.$body";
    $standard = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $signature) {
        if (hash_equals($standard, $signature)) {
            return true;
        }
    }
    return false;
}
