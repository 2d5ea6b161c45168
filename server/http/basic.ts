/**
 * What package managers and dput send: the token is the password, and the name is not looked at. A bearer credential
 * stays as it is; undefined for anything else. Source: RFC 7617, 2.
 */
export function bearerOf(authorization: string): string | undefined {
  const [, scheme = '', value = ''] = /^(\S+)\s+(\S+)$/.exec(authorization) ?? []
  if (/^bearer$/i.test(scheme)) return authorization
  if (!/^basic$/i.test(scheme)) return undefined
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(value, 'base64').toString('utf8')) ?? []
  return password === '' ? undefined : `Bearer ${password}`
}
