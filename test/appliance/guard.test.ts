import { spawn, type ChildProcess } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createAuthority, type Authority } from '../support/authority.ts'
import { findProgram } from '../support/tools.ts'
import type { Finding } from '../../appliance/machine/check/finding.ts'
import { ask } from './support/ask.ts'
import { bootMachine, type Machine } from './support/machine.ts'
import { createImageRoot, type Root } from './support/root.ts'

const { lacking, image, suite } = inject('appliance')
const LAN = '10.99.0.1'
/** Servers of another machine in the LAN, which print what they get. */
const LISTENING = `
  const { readFileSync } = require('node:fs')
  const [folder] = process.argv.slice(1)
  const say = kind => data => console.log(kind + ' ' + String(data).replaceAll('\\n', ' '))
  const identity = { cert: readFileSync(folder + '/cert.pem'), key: readFileSync(folder + '/key.pem') }
  require('node:tls').createServer(identity, one => one.on('data', say('tls'))).listen(6514, '${LAN}')
  require('node:dgram').createSocket('udp4').on('message', say('udp')).bind(5514, '${LAN}')
  const tcp = require('node:net').createServer(one => one.on('data', say('tcp')))
  tcp.listen(5514, '${LAN}', () => console.log('ready'))`

describe.skipIf(lacking !== undefined)(`the guard of an appliance (${lacking ?? suite})`, () => {
  let root: Root
  let machine: Machine
  let work: string
  let company: Authority
  let name: string
  const started: ChildProcess[] = []

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'gatehouse-guard-'))
    company = await createAuthority('Company root')
    root = await createImageRoot(image)
    machine = await bootMachine(root, 'gh-guard')
    await machine.healthy()
    name = (await root.read('etc/hostname')).trim()
    const { cert, key } = await company.issue(`DNS:logs.corp.example,DNS:ca.corp.example,IP:${LAN}`)
    await writeFile(join(work, 'cert.pem'), cert)
    await writeFile(join(work, 'key.pem'), key)
    await machine.must('sh', '-c', `echo '${LAN} logs.corp.example ca.corp.example' >>/etc/hosts`)
  })
  afterAll(async () => {
    for (const one of started) one.kill('SIGKILL')
    await machine?.close()
    await root?.close()
    await company?.close()
    await rm(work, { recursive: true, force: true })
  })

  /** Starts a program in the LAN. @returns what it printed so far */
  function inLan(...command: readonly string[]): () => string {
    let said = ''
    const child = spawn('nsenter', ['-t', String(machine.outer), '-n', '--', ...command])
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString()
      })
    started.push(child)
    return () => said
  }
  /** Of the uppermost certificate on the wire. */
  async function onTheWire(): Promise<string> {
    const words = `openssl s_client -connect ${machine.address}:443 -showcerts </dev/null`
    const { out } = await machine.lan('sh', '-c', words)
    const last = out.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.at(-1) ?? ''
    return new X509Certificate(last).fingerprint256.replaceAll(':', '')
  }
  /** Workers of the web server that end show the certificate of before to whom they still take. */
  const wireWith = (fingerprint: string): Promise<true> =>
    machine.until(`a certificate of ${fingerprint}`, async () => (await onTheWire()) === fingerprint)
  /** What the screen shows, once it shows that fingerprint. */
  const screenWith = (fingerprint: string): Promise<string> =>
    machine.until(`a screen with ${fingerprint}`, async () => {
      const shown = await machine.must('cat', '/run/gatehouse/screen')
      return shown.replaceAll(/\s/g, '').includes(fingerprint) && shown
    })

  describe('certificates', () => {
    let own: string
    test('the one of its own is on the wire and on the screen', async () => {
      own = await onTheWire()
      await screenWith(own)
    })

    test('one of the company takes its place, also on the screen, in the QR code and in the announcement', async () => {
      const given = await company.issue(`DNS:${name}.corp.example,IP:${machine.address}`)
      const view = await ask(machine, 'certificate.put', { certificate: given.cert, key: given.key })
      expect(view).toMatchObject({ kind: 'company', issuer: 'Company root', mark: 'good' })
      await wireWith(view.fingerprint)
      const shown = await screenWith(view.fingerprint)
      expect(shown).toContain(`Address      https://${name}.corp.example\n`)
      expect(shown).not.toContain('.local')
      await machine.until('an announcement', async () =>
        (await machine.must('cat', '/etc/avahi/services/gatehouse.service')).includes(view.fingerprint.slice(0, 16)),
      )
    })

    test('one that does not fit changes nothing', async () => {
      const [one, other] = [await company.issue(`DNS:${name}`), await company.issue(`DNS:${name}`)]
      const before = await onTheWire()
      await expect(ask(machine, 'certificate.put', { certificate: one.cert, key: other.key })).rejects.toThrow(
        'The key belongs to none of these certificates',
      )
      expect(await onTheWire()).toBe(before)
    })

    test('its own comes back with the authority of before', async () => {
      expect((await ask(machine, 'certificate.own', {})).fingerprint).toBe(own)
      await wireWith(own)
      await screenWith(own)
    })
  })

  describe.skipIf(findProgram('pebble') === undefined)('a certificate by ACME (needs pebble)', () => {
    let printed: () => string
    const directory = 'https://ca.corp.example:14000/dir'
    const order = (names: string[]) => ask(machine, 'certificate.acme', { directory, names, authority: company.ca })
    beforeAll(async () => {
      const at = { listenAddress: `${LAN}:14000`, managementListenAddress: `${LAN}:15000`, httpPort: 80, tlsPort: 443 }
      const files = { certificate: join(work, 'cert.pem'), privateKey: join(work, 'key.pem') }
      await writeFile(join(work, 'pebble.json'), JSON.stringify({ pebble: { ...at, ...files } }))
      await writeFile(join(work, 'hosts'), `127.0.0.1 localhost\n${machine.address} ${name}.corp.example\n`)
      const start = `mount --bind ${work}/hosts /etc/hosts && PEBBLE_VA_NOSLEEP=1 exec pebble -config ${work}/pebble.json`
      printed = inLan('unshare', '--mount', '--propagation', 'private', 'sh', '-c', start)
      await machine.until('pebble', async () => printed().includes('Listening on'))
    })

    test('is asked for over port 80, and served', async () => {
      const view = await order([`${name}.corp.example`])
      expect(view).toMatchObject({ kind: 'acme', names: [`${name}.corp.example`], mark: 'good' })
      await wireWith(view.fingerprint)
      await screenWith(view.fingerprint)
    })

    test('is renewed by the timer when a third of its time is left', async () => {
      const serial = async (): Promise<string> =>
        machine.must('openssl', 'x509', '-noout', '-serial', '-in', '/etc/gatehouse/tls/server.crt')
      const renew = async (): Promise<void> => {
        const { code } = await machine.inside('systemctl', 'start', 'gatehouse-acme@renew.service')
        const said = await machine.must('journalctl', '-u', 'gatehouse-acme@renew', '-o', 'cat', '-n', '40')
        expect({ code, said: code === 0 ? '' : said }).toEqual({ code: 0, said: '' })
      }
      const before = await serial()
      await renew()
      expect(await serial()).toBe(before)
      // as if most of its five years were over
      const late = '[Service]\\nBindPaths=/root/date:/usr/bin/date\\n'
      await machine.must(
        'sh',
        '-c',
        `cp /usr/bin/date /root/real-date && printf '#!/bin/sh\\n[ "$*" = +%%s ] && exec /usr/bin/awk "BEGIN { print systime() + 157000000 }"; exec /root/real-date "$@"\\n' >/root/date && chmod 755 /root/date`,
      )
      await machine.must(
        'sh',
        '-c',
        `mkdir -p /run/systemd/system/gatehouse-acme@.service.d && printf '${late}ProtectHome=no\\n' >/run/systemd/system/gatehouse-acme@.service.d/late.conf && systemctl daemon-reload`,
      )
      await renew()
      expect(await serial()).not.toBe(before)
      await machine.must('sh', '-c', 'rm -r /run/systemd/system/gatehouse-acme@.service.d && systemctl daemon-reload')
    })

    test('is not had under a name that the authority does not find here, and says so', async () => {
      const before = await onTheWire()
      await expect(order([`${name}.other.example`])).rejects.toThrow(
        /gave no certificate: .*other\.example.* It has to reach this machine by port 80.*The certificate of before is served on/,
      )
      expect(await onTheWire()).toBe(before)
      await ask(machine, 'certificate.own', {})
    })
  })

  describe('the log of another machine', () => {
    let arrived: () => string
    beforeAll(async () => {
      arrived = inLan(process.execPath, '-e', LISTENING, work)
      await machine.until('listeners', async () => arrived().includes('ready'))
    })
    const sent = async (kind: string, target: Parameters<typeof ask<'remote_log.set'>>[2]['target']): Promise<void> => {
      await ask(machine, 'remote_log.set', { target })
      await machine.until(`a line by ${kind}`, async () => {
        await machine.must('logger', `hello-by-${kind}`)
        return arrived()
          .split('\n')
          .some(line => line.startsWith(`${kind} `) && line.includes(`hello-by-${kind}`))
      })
    }

    test('gets it by UDP and TCP', async () => {
      await sent('udp', { host: LAN, port: 5514, protocol: 'udp' })
      await sent('tcp', { host: LAN, port: 5514, protocol: 'tcp' })
      expect((await ask(machine, 'machine.read', {})).remote_log).toMatchObject({
        mark: 'good',
        said: 'It is connected.',
      })
    })

    test('gets it by TLS, with the audit log, once its name and authority are right', async () => {
      const target = { host: 'logs.corp.example', port: 6514, protocol: 'tls' as const }
      await sent('tls', { ...target, authority: company.ca })
      await machine.must(
        'sh',
        '-c',
        `echo '{"action":"AUDIT-LINE"}' >/repos/audit/2026-01-01.jsonl && chown gatehouse: /repos/audit/*`,
      )
      await machine.until('a line of the audit log', async () => /tls .*gatehouse-audit.*AUDIT-LINE/.test(arrived()))
      const other = await createAuthority('Somebody else')
      await ask(machine, 'remote_log.set', { target: { ...target, authority: other.ca } })
      await machine.must('logger', 'never-by-tls')
      const view = await machine.until('a log that waits', async () => {
        const { remote_log: log } = await ask(machine, 'machine.read', {})
        return log?.mark === 'warning' && log
      })
      expect(view.said).toContain('It is not connected')
      expect(arrived()).not.toContain('never-by-tls')
      await other.close()
    })

    test('gets nothing any more once it stays here', async () => {
      await ask(machine, 'remote_log.set', { target: null })
      expect((await ask(machine, 'machine.read', {})).remote_log).toBeNull()
      expect((await machine.inside('systemctl', 'is-active', 'gatehouse-log')).out.trim()).toBe('inactive')
    })
  })

  describe('gatehouse-check', () => {
    const found = async (): Promise<Finding[]> =>
      (JSON.parse((await machine.inside('gatehouse-check', '--json')).out) as { findings: Finding[] }).findings
    // a container: no kernel of its own, no clock of its own; and a machine that never saw the internet
    const EXPECTED = ['AppArmor', 'Clock', 'Signatures', 'Updates of Debian']
    /** What is said once `break_` was done, beside what is said of every such machine; then `mend` makes it well. */
    async function saidOf(break_: string, mend: string): Promise<string[]> {
      await machine.must('sh', '-c', break_)
      const said = (await found()).filter(({ what }) => !EXPECTED.includes(what))
      await machine.must('sh', '-c', mend)
      return said.map(({ what, mark, said }) => `${what} ${mark} ${said}`)
    }

    test('finds nothing but what a container without signatures lacks, and says so in words', async () => {
      expect((await found()).map(({ what }) => what).sort()).toEqual(EXPECTED)
      const { code, out } = await machine.inside('gatehouse-check')
      expect([code, out]).toEqual([
        1,
        expect.stringMatching(/^BAD +Signatures: .*\n +freshclam fetches[^]*4 found: 13 of 17/),
      ])
    })

    test.each([
      ['echo >>/usr/lib/gatehouse/status', '', 'Files bad /usr/lib/gatehouse/status is not as laid'],
      [
        'chmod 644 /etc/gatehouse/secrets',
        'chmod 600 /etc/gatehouse/secrets',
        'Rights bad /etc/gatehouse/secrets is root:root with mode 644',
      ],
      ["usermod -p '$6$x$y' root", "usermod -p '!' root", 'Passwords bad root can sign in with a password'],
      ['passwd -dq root', "usermod -p '!' root", 'Passwords bad root signs in without a password'],
      [
        'systemctl -q disable gatehouse-signatures.path',
        'systemctl -q enable gatehouse-signatures.path',
        'Units bad gatehouse-signatures.path is disabled',
      ],
      [
        'nft flush chain inet gatehouse input',
        'systemctl reload gatehouse-firewall',
        'Firewall bad The rules that hold are not those',
      ],
      [
        'nft delete table inet gatehouse',
        'systemctl reload gatehouse-firewall',
        'Firewall bad Its rules are not loaded',
      ],
      [
        'mkdir -p /etc/systemd/journald.conf.d && printf "[Journal]\\nSystemMaxUse=9G\\n" >/etc/systemd/journald.conf.d/z.conf',
        'rm /etc/systemd/journald.conf.d/z.conf',
        'Logs warning journald has SystemMaxUse=9G',
      ],
      [
        'mkdir -p /etc/systemd/system/gatehouse-web.service.d && printf "[Service]\\nNoNewPrivileges=no\\nProtectSystem=no\\nCapabilityBoundingSet=~\\nSystemCallFilter=\\n" >/etc/systemd/system/gatehouse-web.service.d/z.conf && systemctl daemon-reload',
        'rm -r /etc/systemd/system/gatehouse-web.service.d && systemctl daemon-reload',
        'Hardening warning gatehouse-web.service is at',
      ],
      [
        'echo PasswordAuthentication yes >/etc/ssh/sshd_config.d/a.conf && systemctl -q start ssh',
        'rm /etc/ssh/sshd_config.d/a.conf && systemctl -q stop ssh',
        'SSH bad It takes passwords',
      ],
    ])('tells after: %s', async (break_, mend, said) => {
      expect(await saidOf(break_, mend || 'sed -i \\$d /usr/lib/gatehouse/status')).toEqual([
        expect.stringContaining(said),
      ])
    })

    test('is whole again after each, and feeds what the console shows', async () => {
      expect((await found()).map(({ what }) => what).sort()).toEqual(EXPECTED)
      const { findings } = await ask(machine, 'machine.read', {})
      expect(findings.map(({ what }) => what)).toEqual(expect.arrayContaining(['Signatures']))
    })
  })

  test('nothing failed on the way', async () => {
    const failed = await machine.must('systemctl', '--failed', '--no-legend', '--plain')
    expect(failed.split('\n').filter(line => line !== '' && !line.startsWith('systemd-remount-fs'))).toEqual([])
    expect(await readFile(join(root.folder, 'etc/gatehouse/secrets'), 'utf8')).toContain('SETUP_TOKEN')
  })
})
