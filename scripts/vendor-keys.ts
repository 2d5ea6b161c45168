import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { VENDOR_KEYS } from '../server/imports/trust/vendors.ts'

/*
 * Renews server/imports/trust/vendor-keys.json from Debian's packages of keyrings. They are in Debian 13 and later:
 *
 *   node scripts/vendor-keys.ts debian-archive-keyring_*.deb ubuntu-keyring_*.deb distribution-gpg-keys_*.deb
 *
 * The later copy of a key wins over an earlier one, so give several versions of a package where one has expired. Public
 * keys are facts that their owners publish; distribution-gpg-keys is CC0-1.0.
 */
const OUT = join(import.meta.dirname, '..', 'server', 'imports', 'trust', 'vendor-keys.json')
const home = mkdtempSync(join(tmpdir(), 'vendor-keys-'))

function run(command: string, ...args: readonly string[]): { readonly status: number | null; readonly out: string } {
  const { status, stdout } = spawnSync(command, args, {
    env: { ...process.env, GNUPGHOME: home },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  return { status, out: stdout }
}

/** Armour without its comments. */
const plain = (text: string): string => text.replace(/^(Comment|Version): .*\n/gm, '')

try {
  const packages = process.argv.slice(2)
  if (packages.length === 0) throw new Error('Name the packages of keyrings (.deb files) to read.')
  const files: string[] = []
  for (const [at, deb] of packages.entries()) {
    const folder = join(home, `unpacked-${at}`)
    if (run('dpkg-deb', '-x', deb, folder).status !== 0) throw new Error(`${deb} cannot be unpacked.`)
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      if (statSync(join(folder, name)).isFile() && /keyrings|gpg-keys/.test(name)) files.push(join(folder, name))
  }
  // gpg merges the copies of a key; what it cannot read (post-quantum keys) it passes over
  for (const file of files.filter(name => !/\.rsa\.pub$|copyright|changelog/.test(name)))
    run('gpg', '--batch', '--quiet', '--import', file)
  const keys = Object.values(VENDOR_KEYS).map(({ name, kind }) => {
    const file = files.find(one => basename(one) === name)
    const text =
      kind === 'rsa'
        ? file && readFileSync(file, 'utf8')
        : plain(run('gpg', '--batch', '--armor', '--export-options', 'export-minimal', '--export', name).out)
    if (text === undefined || text === '') throw new Error(`The key ${name} is in none of these packages.`)
    return { name, text }
  })
  const from = packages.map(name =>
    basename(name)
      .replace(/_[a-z0-9]+\.deb$/, '')
      .replaceAll('%2b', '+'),
  )
  writeFileSync(OUT, `${JSON.stringify({ from, keys }, null, 2)}\n`)
  console.log(`Wrote ${keys.length} keys to ${OUT}.`)
} finally {
  rmSync(home, { recursive: true, force: true })
}
