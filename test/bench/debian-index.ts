import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { debUpstream } from '../../server/formats/deb/upstream.ts'
import type { UpstreamPackage } from '../../server/formats/upstream.ts'
import { trustKeys } from '../../server/signing/trusted-keys.ts'

const HELPER = '/usr/lib/apt/apt-helper'

/** The texts of the indexes that apt of this machine has of Debian: main, updates, security. */
export function debianIndexes(): Buffer[] {
  const asked = ['indextargets', '--format', '$(ORIGIN) $(FILENAME)', 'Created-By: Packages']
  const { stdout } = spawnSync('apt-get', asked, { encoding: 'utf8' })
  const files = stdout.split('\n').filter(line => line.startsWith('Debian '))
  return files.map(line => spawnSync(HELPER, ['cat-file', line.slice('Debian '.length)], { maxBuffer: 2 ** 30 }).stdout)
}

/** Packages of an index, through the product's own reader. */
export async function readIndexText(text: Buffer): Promise<UpstreamPackage[]> {
  const name = 'main/binary-amd64/Packages'
  const sha256 = createHash('sha256').update(text).digest('hex')
  const files = new Map([
    ['dists/s/Release', Buffer.from(`Suite: s\nSHA256:\n ${sha256} ${text.length} ${name}\n`)],
    [`dists/s/${name}`, text],
  ])
  const now = new Date()
  const opened = await debUpstream.open({
    fetch: path => Promise.resolve(chunks(files.get(path))),
    keys: await trustKeys({ openpgp: [], rsa: new Map(), now: () => now }),
    now,
    unsigned: true,
    suite: 's',
    archs: ['amd64'],
  })
  const found = []
  for await (const entry of opened.entries()) found.push(entry.read())
  return found
}

function chunks(bytes: Buffer | undefined): AsyncIterable<Buffer> | undefined {
  if (bytes === undefined) return undefined
  return (async function* () {
    for (let at = 0; at < bytes.length; at += 2 ** 16) yield await Promise.resolve(bytes.subarray(at, at + 2 ** 16))
  })()
}
