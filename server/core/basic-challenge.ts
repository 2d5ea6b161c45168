/** The header that asks a client for HTTP Basic credentials. Source: RFC 7617, 2. */
export const BASIC_CHALLENGE = 'Basic realm="Gatehouse", charset="UTF-8"'
