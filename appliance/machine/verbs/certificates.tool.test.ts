import { X509Certificate } from 'node:crypto'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createAuthority, selfSigned, type Authority, type Identity } from '../../../test/support/authority.ts'
import { lacking, mustRun, run } from '../../../test/support/tools.ts'
import { certificatesIn, checkPair } from '../pem.ts'
import { testPorts, type Testing } from '../testing.ts'
import { orderCertificate } from './acme.ts'
import { kindOf, ownCertificate, putCertificate, readCertificate } from './certificates.ts'

const PROGRAM = join(import.meta.dirname, '../../root/usr/lib/gatehouse/certificate')
const NAMES = 'DNS:gatehouse-1.corp.example,IP:10.20.1.10'

describe.skipIf(lacking('openssl').length > 0)('certificates (needs openssl)', () => {
  let ports: Testing
  let company: Authority
  /** What the web server shows: what lay there at its last reload. */
  let shown: string
  let reload: { code: number; err: string }
  beforeEach(async () => {
    ports = await testPorts()
    company = await createAuthority('Company root')
    // a minute later than what is made meanwhile begins
    ports.clock.now = new Date(Date.now() + 60_000).toISOString()
    await ports.put('/etc/hostname', 'gatehouse-1\n')
    await mkdir(join(ports.root, 'etc/gatehouse/tls'), { recursive: true })
    shown = ''
    reload = { code: 0, err: '' }
    const env = {
      GATEHOUSE_ETC: join(ports.root, 'etc/gatehouse'),
      GATEHOUSE_WEB_GROUP: String(process.getgid?.() ?? 0),
      GATEHOUSE_NAME: 'gatehouse-1',
      GATEHOUSE_ADDRESSES: '10.20.1.10',
    }
    const said = ports.run
    Object.assign(ports, {
      run: async (program: string, args: readonly string[]) => {
        await said(program, args)
        if (program.endsWith('/certificate')) return run(PROGRAM, [], { env })
        if (program === 'openssl') return { code: 0, out: shown, err: '' }
        if (program === 'ip') return { code: 0, out: '2: eth0    inet 10.20.1.10/24 scope global eth0', err: '' }
        if (args[0] !== 'reload-or-restart') return { code: 0, out: '', err: '' }
        if (reload.code === 0) shown = await served()
        return { ...reload, out: '' }
      },
    })
    await run(PROGRAM, [], { env })
    shown = await served()
  })
  afterEach(async () => {
    await company.close()
    await ports.close()
  })
  const read = (path: string): Promise<string> => readFile(join(ports.root, 'etc/gatehouse', path), 'utf8')
  const served = (): Promise<string> => read('tls/server.crt')
  const put = ({ cert, key }: Identity) => putCertificate(ports, { certificate: cert, key })
  const printOf = (pem: string): string => new X509Certificate(pem).fingerprint256.replaceAll(':', '')

  test('one of the company is served with what is above it, and is named as what consoles compare', async () => {
    const own = await readCertificate(ports)
    expect(own).toMatchObject({
      kind: 'own',
      mark: 'good',
      fingerprint: printOf(await read('authority/authority.crt')),
    })
    const given = await company.issue(NAMES)
    const view = await put(given)
    expect(view).toMatchObject({
      kind: 'company',
      names: ['gatehouse-1.corp.example', '10.20.1.10'],
      issuer: 'Company root',
      fingerprint: printOf(company.ca),
      mark: 'good',
      said: expect.stringMatching(/^It lasts for 39[67] days more\. Put the next one in/),
    })
    expect(certificatesIn(shown).map(one => one.fingerprint256)).toEqual(
      certificatesIn(given.cert).map(one => one.fingerprint256),
    )
    expect((await stat(join(ports.root, 'etc/gatehouse/tls/server.key'))).mode & 0o777).toBe(0o640)
    expect((await stat(join(ports.root, 'etc/gatehouse/tls/company/server.key'))).mode & 0o777).toBe(0o600)
    // addresses change, hours go by: it stays
    await ports.run(PROGRAM, [])
    expect(await served()).toBe(shown)
  })

  test('comes in any order, and leaves in the order that clients read', async () => {
    const { cert, key } = await company.issue(NAMES)
    const [leaf = '', ca = ''] = certificatesIn(cert).map(one => one.toString())
    await put({ cert: ca + leaf, key })
    expect(shown).toBe(leaf + ca)
  })

  test('goes back to its own, whose authority is the one of before', async () => {
    const before = (await readCertificate(ports)).fingerprint
    await put(await company.issue(NAMES))
    const view = await ownCertificate(ports)
    expect([view.kind, view.fingerprint, view.mark]).toEqual(['own', before, 'good'])
    expect(certificatesIn(shown)).toHaveLength(2)
    await expect(read('tls/company/server.key')).rejects.toThrow('ENOENT')
  })

  test('that of before is served on when the web server does not take it', async () => {
    await put(await company.issue(NAMES))
    const before = shown
    reload = { code: 1, err: 'Job for gatehouse-web.service failed: ca md too weak' }
    await expect(put(await company.issue(NAMES))).rejects.toThrow(
      /ca md too weak.*The certificate of before is served on/,
    )
    expect([await served(), await kindOf(ports)]).toEqual([before, 'company'])
  })

  test('comes back whole after a power cut between its two files', async () => {
    const given = await company.issue(NAMES)
    await put(given)
    const before = await served()
    await ports.put('/etc/gatehouse/tls/server.key', 'half a key')
    await ports.run(PROGRAM, [])
    expect(await served()).toBe(before)
    expect(await read('tls/server.key')).toContain('BEGIN PRIVATE KEY')
  })

  describe('refuses', () => {
    const machine = ['gatehouse-1', 'gatehouse-1.local', '10.20.1.10']
    const refusal = async (given: Identity, now = ports.now()): Promise<string> => {
      const before = shown
      let said = 'taken'
      try {
        checkPair({ certificate: given.cert, key: given.key }, { now, machine })
      } catch (error) {
        said = (error as Error).message
      }
      expect(shown).toBe(before)
      return said
    }
    const rsa = async (bits: string): Promise<Identity> => {
      const words = ['req', '-x509', '-newkey', `rsa:${bits}`, '-nodes', '-days', '9', '-subj', '/CN=gatehouse-1']
      const files = [
        '-addext',
        `subjectAltName=${NAMES}`,
        '-keyout',
        join(ports.root, 'key'),
        '-out',
        join(ports.root, 'crt'),
      ]
      await mustRun('openssl', [...words, ...files])
      const [cert, key] = await Promise.all(['crt', 'key'].map(name => readFile(join(ports.root, name), 'utf8')))
      return { cert: cert ?? '', key: key ?? '' }
    }

    test('a key of another certificate', async () => {
      const [one, two] = [await company.issue(NAMES), await company.issue(NAMES)]
      expect(await refusal({ cert: one.cert, key: two.key })).toMatch(/belongs to none of these certificates/)
    })
    test('a key with a passphrase', async () => {
      const { cert, key } = await company.issue(NAMES)
      const words = ['pkcs8', '-topk8', '-v2', 'aes256', '-passout', 'pass:secret', '-in', '/dev/stdin']
      const locked = await mustRun('sh', ['-c', `printf '%s' "$KEY" | openssl ${words.join(' ')}`], {
        env: { KEY: key },
      })
      expect(await refusal({ cert, key: locked })).toMatch(/has a passphrase.*openssl pkey/)
    })
    test('one that has ended, and one that has not begun', async () => {
      const given = await company.issue(NAMES)
      expect(await refusal(given, new Date(Date.now() + 500 * 86_400_000))).toMatch(/ended on .* Have it renewed/)
      expect(await refusal(given, new Date('2020-01-01'))).toMatch(/this machine's clock says 2020-01-01T00:00 UTC/)
    })
    test('one for other names', async () => {
      expect(await refusal(await company.issue('DNS:shop.corp.example'))).toMatch(
        /It is for shop.corp.example, and this machine is gatehouse-1, .*Give the machine its name first/,
      )
    })
    test('one between that signed nothing of it', async () => {
      const other = await createAuthority('Another root')
      const { cert, key } = await company.issue(NAMES)
      expect(await refusal({ cert: cert + other.ca, key })).toMatch(/Another root signed none of the certificates/)
      await other.close()
    })
    test('a key that is too short', async () => {
      expect(await refusal(await rsa('1024'))).toMatch(/has 1024 bits/)
      expect(await refusal(await rsa('2048'))).toBe('taken')
    })
    test('what is no PEM', async () => {
      const { cert, key } = await selfSigned()
      expect(await refusal({ cert: 'hello', key })).toMatch(/There is no certificate in it/)
      expect(await refusal({ cert, key: 'hello' })).toMatch(/There is no private key in it/)
      expect(await refusal({ cert: cert.slice(0, 90) + cert.slice(95), key })).toMatch(
        /cannot be read|BEGIN CERTIFICATE/,
      )
    })
  })

  describe('of an ACME authority', () => {
    const order = { directory: 'https://ca.corp.example/acme/directory', names: ['gatehouse-1.corp.example'] }
    test('is not asked for with a directory, a name or an authority that cannot be', async () => {
      const wrong = { ...order, directory: 'https://ca/$(id)' }
      await expect(orderCertificate(ports, wrong)).rejects.toThrow('no address of an ACME directory')
      await expect(orderCertificate(ports, { ...order, names: ['shop.example'] })).rejects.toThrow(
        'is a name of this machine',
      )
      await expect(orderCertificate(ports, { ...order, authority: 'x' })).rejects.toThrow('cannot be read')
      expect(ports.ran.filter(line => line.startsWith('systemctl'))).toEqual([])
    })
    test('says what the authority said when it gives none, and goes on with the one of before', async () => {
      const before = await served()
      const { run: answer } = ports
      Object.assign(ports, {
        run: async (program: string, args: readonly string[]) => {
          if (!args.includes('gatehouse-acme@order.service')) return answer(program, args)
          await ports.put('/etc/gatehouse/acme/failed', 'Connection refused\n')
          return { code: 1, out: '', err: '' }
        },
      })
      await expect(orderCertificate(ports, { ...order, authority: company.ca })).rejects.toThrow(
        /gave no certificate: Connection refused\. It has to reach this machine by port 80.*served on/,
      )
      expect([await served(), await kindOf(ports)]).toEqual([before, 'own'])
      await expect(read('acme/directory')).rejects.toThrow('ENOENT')
    })
    test('is served, and its renewal that failed is said', async () => {
      const { cert, key } = await company.issue(NAMES)
      await ports.put('/etc/gatehouse/tls/acme/server.crt', cert)
      await ports.put('/etc/gatehouse/tls/acme/server.key', key)
      expect(await orderCertificate(ports, { ...order, authority: company.ca })).toMatchObject({
        kind: 'acme',
        mark: 'good',
      })
      expect(await read('acme/names')).toBe('gatehouse-1.corp.example\n')
      await ports.put('/etc/gatehouse/acme/failed', 'Rate limited.')
      expect(await readCertificate(ports)).toMatchObject({
        mark: 'warning',
        said: expect.stringContaining('Rate limited.'),
      })
    })
  })
})
