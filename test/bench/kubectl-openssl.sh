#!/bin/sh
# Every certificate of a cluster as people list them who have kubectl, jq and
# openssl. One openssl for all: one for each certificate takes minutes. Not one
# pipe, since what fails half-way in it would look like a cluster with fewer
# certificates.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

kubectl get secrets,configmaps -A -o json >"$tmp/objects"
jq -r '.items[] | .kind as $kind | (.data // {})[] | if $kind == "Secret" then @base64d else . end | select(contains("BEGIN CERTIFICATE-"))' \
	"$tmp/objects" >"$tmp/pem"
openssl crl2pkcs7 -nocrl -certfile "$tmp/pem" >"$tmp/pkcs7"
openssl pkcs7 -print_certs -text -noout -in "$tmp/pkcs7"
