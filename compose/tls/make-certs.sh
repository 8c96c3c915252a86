#!/usr/bin/env bash
# Makes what compose/tls.yml needs: an authority, a certificate for NATS and one for the services.
#   compose/tls/make-certs.sh [DAYS]
#
# The folder certs/ is closed to other users of the machine; the folders in it, which containers
# mount, are open to the containers' own users. Run it again for new certificates: the authority
# stays as long as its key is there.
set -euo pipefail
cd "$(dirname "$0")"

days=${1:-365}
certs=certs
mkdir -p "$certs/server" "$certs/client"
chmod 700 "$certs"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# ssl runs openssl, and shows what it said only when it fails.
ssl() { openssl "$@" 2>"$log" || { cat "$log" >&2; exit 1; }; }

if [ ! -e "$certs/ca.key" ]; then
  ssl ecparam -name prime256v1 -genkey -noout -out "$certs/ca.key"
  ssl req -x509 -new -key "$certs/ca.key" -sha256 -days 3650 -subj "/CN=triptych authority" \
    -addext basicConstraints=critical,CA:TRUE,pathlen:0 -addext keyUsage=critical,keyCertSign,cRLSign \
    -out "$certs/ca.crt"
fi

# sign NAME FOLDER USE SUBJECT NAMES makes a key and a certificate.
sign() {
  local file="$certs/$2/$1"
  ssl ecparam -name prime256v1 -genkey -noout -out "$file.key"
  ssl req -new -key "$file.key" -subj "$4" -out "$file.csr"
  ssl x509 -req -in "$file.csr" -CA "$certs/ca.crt" -CAkey "$certs/ca.key" -CAcreateserial -sha256 -days "$days" \
    -extfile <(printf 'basicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nextendedKeyUsage=%s\n%s' "$3" "${5:+subjectAltName=$5}") \
    -out "$file.crt"
  rm "$file.csr"
  cp "$certs/ca.crt" "$certs/$2/ca.crt"
  chmod 644 "$file.key" "$file.crt" "$certs/$2/ca.crt"
}

sign server server serverAuth /CN=nats DNS:nats,DNS:localhost,IP:127.0.0.1
sign client client clientAuth /CN=triptych ""
echo "certificates for $days days in $PWD/$certs"
