import { existsSync, readdirSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { run } from '../support/tools.ts'

const { lacking, files } = inject('image')
const ROOT = join(import.meta.dirname, '../..')

/** Paths below `files` with a line that `pattern` (extended, or as it is) fits; whole trees take seconds. */
async function having(how: '-E' | '-F', pattern: string, ...folders: readonly string[]): Promise<string[]> {
  const at = folders.map(folder => join(files, folder)).filter(folder => existsSync(folder))
  const { out } = await run('grep', ['-rIl', how, '-e', pattern, ...at])
  return out
    .split('\n')
    .filter(path => path !== '')
    .map(path => path.slice(files.length + 1))
}
async function namesLike(pattern: RegExp): Promise<string[]> {
  const { out } = await run('find', ['.', '(', '-type', 'f', '-o', '-type', 'l', ')'], { cwd: files })
  return out.split('\n').filter(path => pattern.test(path))
}

/** Debian's own examples, tests and databases name keys and hosts. */
const OF_DEBIAN = /^root-a\/(?:usr\/share\/(?:doc|perl5?)\/|var\/lib\/dpkg\/|usr\/lib\/python3\/)/

describe.skipIf(lacking !== undefined)(`the files of an image (${lacking ?? 'without a start'})`, () => {
  test('no private key of any kind', async () => {
    const named = await having('-E', '-----BEGIN [A-Z ]*PRIVATE KEY-----', 'root-a', 'data')
    const whole = /-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}/
    const found = await Promise.all(
      named.map(async path => ((await readFile(join(files, path), 'latin1')).match(whole) === null ? [] : [path])),
    )
    expect(found.flat().filter(path => !OF_DEBIAN.test(path))).toEqual([])
    expect(await namesLike(/\/(?:ssh_host_|ssl-cert-snakeoil)|\/private-keys-v1\.d\/|\.(?:key|p12|pfx)$/)).toEqual([])
  })

  test('no secret, seed, id or state that two machines would share', async () => {
    const shared =
      /\/(?:random-seed|credential\.secret|authorized_keys|gatehouse\.ini|\.bash_history|\.npmrc|\.netrc|id_(?:rsa|ed25519)|gatehouse\/secrets|\.secrets|settings\.json|work\.json|lease[^/]*|PG_VERSION)$/
    expect(
      await namesLike(
        new RegExp(`^\\./data/.*${shared.source}|^\\./root-a/(?:etc|var|root|opt|home|srv)/.*${shared.source}`),
      ),
    ).toEqual([])
    expect(await readFile(join(files, 'root-a/etc/machine-id'), 'utf8')).toBe('')
    expect(existsSync(join(files, 'root-a/var/lib/dbus/machine-id'))).toBe(false)
    const empty = /^\.\/(?:data\/(?:repos|postgres|log)|root-a\/var\/lib\/gatehouse-(?:machine|update))\//
    // Debian's link to what a folder is for
    expect((await namesLike(empty)).filter(path => path !== './data/log/README')).toEqual([])
    expect((await readFile(join(files, 'esp'), 'utf8')).split('\n').filter(path => /seed/i.test(path))).toEqual([])
  })

  test('nobody has a password, and nothing of ours brings one', async () => {
    const shadow = await readFile(join(files, 'root-a/etc/shadow'), 'utf8')
    expect(shadow.split('\n').filter(line => line !== '' && !/^[^:]+:[!*]/.test(line))).toEqual([])
    const given = '^[A-Z_]*(PASSWORD|PASSPHRASE|SECRET|TOKEN)[A-Z_]*='
    expect(
      await having(
        '-E',
        given,
        'root-a/etc',
        'root-a/usr/share/gatehouse',
        'root-a/usr/lib/systemd/system',
        'data/config',
      ),
    ).toEqual([])
  })

  test('names nothing of where it was built', async () => {
    const asked = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages'])
    const npm = await run('npm', ['config', 'get', 'registry'])
    const { http_proxy: http = '', https_proxy: https = '', npm_config_registry: registry = '' } = process.env
    const addresses = [...asked.out.split('\n'), npm.out.trim(), http, https, registry]
    const hosts = addresses.flatMap(address => (URL.canParse(address) ? [new URL(address).host] : []))
    const built = new Set(
      hosts.filter(host => !/^$|^(?:ftp|deb|security)\.debian\.org$|^registry\.npmjs\.org$/.test(host)),
    )
    const own = hostname()
    const words = [...[...built].map(host => `//${host}`), `${ROOT}/`, ...(own.length > 5 ? [own] : [])]
    for (const word of words) {
      const found = await having(
        '-F',
        word,
        ...['etc', 'opt', 'root', 'usr/lib/gatehouse', 'usr/share/gatehouse', 'var'].map(at => `root-a/${at}`),
        'data',
      )
      expect({ word, found: found.filter(path => !OF_DEBIAN.test(path)) }).toEqual({ word, found: [] })
    }
  })

  test('has the program for the machine, and a clock that never begins before it was made', async () => {
    const [release = ''] = readdirSync(join(files, 'root-a/opt/gatehouse/releases'))
    const folder = join(files, 'root-a/opt/gatehouse/releases', release)
    for (const program of ['main.mjs', 'menu.mjs', 'seed.mjs', 'check.mjs', 'update.mjs'])
      expect((await stat(join(folder, 'machine', program))).size).toBeGreaterThan(100)
    const epoch = await stat(join(files, 'root-a/usr/lib/clock-epoch'))
    expect(epoch.mtimeMs).toBe((await stat(join(folder, 'release'))).mtimeMs)
  })
})
