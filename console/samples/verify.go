package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Older deliveries are refused, so that a recorded one cannot be replayed.
const toleranceSeconds = 300

// IsFromSpotcheck reports whether a request came from Spotcheck: both of its signatures are good, and it is not old.
// body: the raw bytes; header: request.Header.Get; secret: all of it, whsec_ included.
func IsFromSpotcheck(body []byte, header func(name string) string, secret string) bool {
	// For 24 hours after a change of the secret the previous one signs as well.
	own := "sha256=" + hex.EncodeToString(sign([]byte(secret), body))
	if !isEqual(header("X-Service-Signature"), own) && !isEqual(header("X-Service-Signature-Previous"), own) {
		return false
	}

	timestamp := header("Webhook-Timestamp")
	sentAt, err := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Now().Unix() - sentAt; err != nil || age > toleranceSeconds || age < -toleranceSeconds {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	signed := append([]byte(header("Webhook-Id")+"."+timestamp+"."), body...)
	standard := "v1," + base64.StdEncoding.EncodeToString(sign(key, signed))
	for _, signature := range strings.Split(header("Webhook-Signature"), " ") {
		if isEqual(signature, standard) {
			return true
		}
	}
	return false
}

func sign(key, message []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return mac.Sum(nil)
}

func isEqual(given, expected string) bool {
	return hmac.Equal([]byte(given), []byte(expected))
}
