/*
 * SHA-256 and base64 through libcrypto: the only includer of its headers.
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "sweeper/host/host.h"

void host_sha256(struct bytes content, char out_hex[65])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_Digest(content.data == NULL ? "" : content.data, content.size, digest, &size,
                   EVP_sha256(), NULL) != 1 ||
        size != 32)
        abort(); /* a wrong hash would let a foreign edit pass for ours */
    for (size_t i = 0; i < 32; i++) {
        out_hex[2 * i] = digits[digest[i] >> 4];
        out_hex[2 * i + 1] = digits[digest[i] & 15];
    }
    out_hex[64] = '\0';
}

const char *host_base64(struct bytes content, struct arena *arena)
{
    char *text = arena_alloc(arena, (content.size + 2) / 3 * 4 + 1);
    if (text != NULL && content.size > 0) {
        (void)EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)content.data,
                              (int)content.size);
    }
    return text;
}

const char *host_library_version(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}
