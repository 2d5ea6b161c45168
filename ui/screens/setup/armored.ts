/** What is wrong with a text that should be a private key, as far as that can be seen without opening it. */
export function complaintOf(text: string): string | undefined {
  if (text.trim() === '') return undefined
  if (text.includes('BEGIN PGP PRIVATE KEY BLOCK')) return undefined
  if (text.includes('BEGIN PGP PUBLIC KEY BLOCK'))
    return 'This is the public part, which cannot sign. gpg --armor --export-secret-keys writes the private one.'
  if (/BEGIN (OPENSSH|RSA|EC|ENCRYPTED|)\s?PRIVATE KEY/.test(text))
    return 'This is a key of SSH or TLS. Packages are signed with an OpenPGP key.'
  return 'This is no armored private key: it begins with BEGIN PGP PRIVATE KEY BLOCK.'
}
