import { randomBytes } from 'node:crypto'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { apkProgram, createApkRoot, readServedApks } from '../support/apk.ts'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { createDnfRoot } from '../support/dnf.ts'
import { buildDeb, EICAR } from '../support/packages.ts'
import { buildApk } from '../support/packages-apk.ts'
import { buildRpm } from '../support/packages-rpm.ts'
import { lacking as lackingTools, mustRun } from '../support/tools.ts'
import { bootMachine, type Answer, type Machine } from './support/machine.ts'
import { createImageRoot, type Root } from './support/root.ts'
import { createLoopDisk, folderOf, plugIn, whyNoLoop, type LoopDisk } from './support/stick.ts'

const { lacking, image, suite } = inject('appliance')
const why = lacking ?? (await whyNoLoop())
const ADMIN = { username: 'admin', password: 'Correct-horse-7' }
const ADA = { username: 'ada', password: 'Correct-horse-8' }
const PASSPHRASE = 'Eleven-blue-herons'
const MB = 1024 ** 2

/** What belongs to one machine alone. */
interface Own {
  readonly id: string
  readonly secrets: readonly string[]
  readonly authority: string
  readonly hostKey: string
}

describe.skipIf(why !== undefined)(
  `a second machine beside one that works, and its backup on a stick (${why ?? suite})`,
  () => {
    let work: string
    let disk: LoopDisk
    let root: Root
    let machine: Machine
    let token: string | undefined
    let client: AptRoot
    /** Words that run a program in the LAN of the machine that runs now. */
    const lan = ['nsenter', '-t', '', '-n', '--']
    let archive: string
    let stick: LoopDisk
    let first: Own
    let before: unknown

    const call: Machine['call'] = (method, path, more = {}) =>
      machine.call(method, `/api/v1${path}`, { token, ...more })
    async function signIn(who = ADMIN): Promise<void> {
      const { body, text } = await machine.call('POST', '/api/v1/auth/token', { json: who })
      expect(text).toContain('access_token')
      token = String(body.access_token)
    }
    async function upload(content: Buffer, filename: string, distribution = 'bookworm'): Promise<Answer> {
      await writeFile(join(work, filename), content)
      const form = { file: `@${join(work, filename)}`, distribution }
      return call('POST', '/upload/', { form }).finally(() => rm(join(work, filename)))
    }
    /** A machine of the same image. @param packages  the disk of its /repos */
    async function boot(packages?: LoopDisk): Promise<void> {
      root = await createImageRoot(image)
      const signatures = `Eicar-Anywhere:0:*:${Buffer.from(EICAR).toString('hex')}\n`
      await writeFile(join(root.folder, 'var/lib/clamav/test.ndb'), signatures)
      await appendFile(join(root.folder, 'etc/gatehouse/environment'), 'REPO_FORMAT=all\n')
      if (packages !== undefined) await mustRun('mount', [packages.device, join(root.folder, 'repos')])
      machine = await bootMachine(root, 'gatehouse')
      lan[2] = String(machine.outer)
      await machine.healthy()
    }
    async function setUp(): Promise<void> {
      const secrets = await root.read('etc/gatehouse/secrets')
      const headers = { 'X-Setup-Token': /^SETUP_TOKEN=(.*)$/m.exec(secrets)?.[1] ?? '' }
      const json = { admin_username: ADMIN.username, admin_password: ADMIN.password }
      expect((await call('POST', '/setup/', { json, headers })).status).toBe(201)
      await signIn()
      // nothing is known of vulnerabilities without a network; malware is looked for
      expect((await call('PATCH', '/settings/', { json: { validation: { grype_scan: false } } })).status).toBe(200)
    }
    const authority = (): string => join(root.folder, 'etc/gatehouse/authority/authority.crt')
    const own = async (): Promise<Own> => ({
      id: await root.read('etc/machine-id'),
      secrets: (await root.read('etc/gatehouse/secrets')).split('\n').filter(line => line !== ''),
      authority: await root.read('etc/gatehouse/authority/authority.crt'),
      hostKey: await root.read('etc/ssh/ssh_host_ed25519_key.pub'),
    })
    /** What a backup brings back. */
    async function state(): Promise<unknown> {
      const [packages, users, key, distributions] = await Promise.all([
        call('GET', '/packages/?per_page=200'),
        call('GET', '/auth/users'),
        machine.call('GET', '/repos/gpg.key'),
        call('GET', '/settings/gpg'),
      ])
      const names = (packages.body.packages ?? packages.body.items) as { name: string }[]
      return {
        packages: names.map(({ name }) => name).sort(),
        users: (users.text.match(/"username":"\w+"/g) ?? []).sort(),
        key: key.text,
        fingerprint: distributions.body.fingerprint,
      }
    }

    beforeAll(async () => {
      work = await mkdtemp(join(tmpdir(), 'gatehouse-restore-'))
      disk = await createLoopDisk(join(work, 'repos.img'), { label: 'packages', megabytes: 1_600 })
      await boot(disk)
      await setUp()
    })
    afterAll(async () => {
      await client?.close()
      await machine?.close()
      await root?.close()
      await disk?.close()
      await stick?.close()
      await rm(work, { recursive: true, force: true })
    })

    test('the first machine has packages, people and clients', async () => {
      for (const codename of ['bookworm', 'almalinux9', 'alpine3.20'])
        expect((await call('POST', '/distributions/init', { json: { codename } })).status).toBe(200)
      for (const name of ['hello', 'world']) {
        const content = await buildDeb({ name, version: '1.0', files: { [`usr/share/${name}`]: name } })
        const { body, text } = await machine.until('a scanner', async () => {
          const answer = await upload(content, `${name}.deb`)
          return (answer.body.pipeline as { antivirus?: string }).antivirus !== 'unavailable' && answer
        })
        expect(body.status, text).toBe('published')
      }
      const json = { ...ADA, role: 'maintainer', email: 'ada@example.com' }
      expect((await call('POST', '/auth/users', { json })).status).toBe(201)
      client = await createAptRoot({
        source: `http://${machine.address}/repos bookworm main`,
        key: (await machine.call('GET', '/repos/gpg.key')).text,
        within: lan,
      })
      expect(await client.update()).toMatchObject({ code: 0 })
      expect(await client.install('hello')).toMatchObject({ code: 0 })
    })

    test.skipIf(lackingTools('dnf', 'rpm').length > 0)(
      'dnf installs from it over TLS, with all checks on (needs dnf)',
      async () => {
        expect((await call('PATCH', '/settings/', { json: { signing: { rpm_packages: true } } })).status).toBe(200)
        const content = await buildRpm({ name: 'acme', version: '1.0', release: '1' })
        const { body, text } = await upload(content, 'acme-1.0-1.x86_64.rpm', 'almalinux9')
        expect(body.status, text).toBe('published')
        const dnf = await createDnfRoot({
          baseurl: `https://${machine.address}/repos/almalinux9/x86_64/`,
          key: (await machine.call('GET', '/repos/gpg.key')).text,
          signedPackages: true,
          authority: authority(),
          within: ['nsenter', '-t', String(machine.outer), '-n', '--'],
        })
        try {
          const refreshed = await dnf.refresh()
          expect(refreshed, refreshed.err).toMatchObject({ code: 0 })
          const installed = await dnf.install('acme')
          expect(installed, installed.err + installed.out).toMatchObject({ code: 0 })
          expect(await dnf.installedVersion('acme')).toBe('1.0-1')
        } finally {
          await dnf.close()
        }
      },
    )

    describe('its tree for apk', () => {
      let keys: Record<string, string>
      beforeAll(async () => {
        const content = await buildApk({ name: 'acme', version: '1.0-r0' })
        const { body, text } = await upload(content, 'acme-1.0-r0.apk', 'alpine3.20')
        expect(body.status, text).toBe('published')
      })

      test('holds for a reader by the rules of apk-tools, over TLS', async () => {
        keys = {}
        const index = await readServedApks(`https://${machine.address}`, 'alpine3.20', {
          fetched: async address => {
            const file = join(work, 'fetched')
            const { code, err } = await machine.lan('curl', '-sSf', '--cacert', authority(), '-o', file, address)
            if (code !== 0) throw new Error(`${address}: ${err}`)
            const bytes = await readFile(file)
            if (/\.pub$/.test(address)) keys[basename(address)] = bytes.toString()
            return bytes
          },
        })
        expect(index).toMatchObject({ problems: [], packages: [{ P: 'acme', V: '1.0-r0' }] })
      })

      test.skipIf(apkProgram === undefined)('apk installs from it (needs apk)', async () => {
        const repository = `http://${machine.address}/apk/alpine3.20/main`
        const apk = await createApkRoot({ repository, keys, within: lan })
        try {
          const added = await apk.apk('add', 'acme')
          expect(added, added.err + added.out).toMatchObject({ code: 0 })
        } finally {
          await apk.close()
        }
      })
    })

    test('a full disk refuses an upload with the way out, and the service goes on and recovers', async () => {
      const free = Number(await machine.must('sh', '-c', 'df --output=avail -B1 /repos | tail -1'))
      const filler = '/repos/filler'
      await machine.must('fallocate', '-l', String(free - 40 * MB), filler)
      const large = await buildDeb({
        name: 'large',
        version: '1.0',
        files: { 'usr/share/large': randomBytes(60 * MB) },
        compression: 'none',
      })
      const refused = await upload(large, 'large.deb')
      expect(refused.status, refused.text).toBe(507)
      expect(String(refused.body.detail)).toMatch(/\./)
      expect((await machine.call('GET', '/health/live')).status).toBe(200)
      expect((await call('GET', '/auth/me')).status).toBe(200)
      await client.remove('hello')
      expect(await client.install('hello')).toMatchObject({ code: 0 })
      await machine.must('rm', filler)
      const taken = await machine.until('room', async () => {
        const answer = await upload(large, 'large.deb')
        return answer.status !== 507 && answer
      })
      expect(taken.body.status, taken.text).toBe('published')
    })

    test('its backup is on a stick', async () => {
      expect((await call('PATCH', '/settings/', { json: { backup: { passphrase: PASSPHRASE } } })).status).toBe(200)
      const made = await call('POST', '/backup/')
      expect(made.status, made.text).toBe(201)
      archive = String(made.body.file_name)
      first = await own()
      before = await state()
      const content = await folderOf(join(work, 'stick'), { 'readme.txt': 'of last night' })
      // as an admin copies it: readable for root alone
      await mustRun('install', ['-m', '600', join(root.folder, 'repos/backups', archive), join(content, archive)])
      const megabytes = 64 + Math.ceil((await readFile(join(content, archive))).length / MB) * 2
      stick = await createLoopDisk(join(work, 'stick.img'), { label: 'GATEHOUSE-BKP', megabytes, content })
      await machine.close()
      await root.close()
      await disk.close()
    })

    test('a second machine of the same image shares no secret with it', async () => {
      token = undefined
      await boot()
      await setUp()
      const second = await own()
      expect(second.id).not.toBe(first.id)
      expect(second.authority).not.toBe(first.authority)
      expect(second.hostKey).not.toBe(first.hostKey)
      expect(second.secrets.filter(line => first.secrets.includes(line))).toEqual([])
      expect(second.secrets.length).toBe(first.secrets.length)
    })

    test('lists what is on the stick, for the daemon as for the machine', async () => {
      const { unit } = await plugIn(machine, stick)
      const log = await machine.must('journalctl', '-u', unit, '-o', 'cat')
      expect(log).toContain(`GATEHOUSE-BKP (ext4, ${stick.device}) is mounted at /run/gatehouse-media/${stick.id}.`)
      expect((await call('GET', '/backup/')).body).toMatchObject({
        backups: [{ file_name: `${archive}@${stick.id}`, place: 'medium', address: `GATEHOUSE-BKP:/${archive}` }],
      })
      expect(await machine.must('findmnt', '-no', 'OPTIONS', `/run/gatehouse-media/${stick.id}`)).toMatch(
        /^ro,nosuid,nodev,noexec/,
      )
      const listed = await machine.until('the stick among what the machine says', async () => {
        const { media } = (await call('GET', '/machine')).body.machine as { media: unknown[] }
        return media.length > 0 && media
      })
      expect(listed).toMatchObject([
        { id: stick.id, label: 'GATEHOUSE-BKP', said: '', files: [{ path: archive, kind: 'backup' }] },
      ])
    })

    test('one that is pulled out is gone everywhere, also for who reads', async () => {
      const [unit = ''] = (
        await machine.must('systemctl', 'list-units', '--plain', '--no-legend', 'gatehouse-medium@*')
      ).split(' ')
      await machine.must('sh', '-c', `exec 5<'/run/gatehouse-media/${stick.id}/${archive}'; systemctl stop ${unit}`)
      expect((await call('GET', '/backup/')).body).toMatchObject({ total: 0 })
      const daemon = (await machine.must('systemctl', 'show', '-P', 'MainPID', 'gatehouse')).trim()
      for (const pid of ['1', daemon])
        expect(await machine.must('cat', `/proc/${pid}/mounts`)).not.toContain('gatehouse-media')
      await machine.must('systemctl', 'start', unit)
      const looked = await call('POST', `/backup/${archive}@${stick.id}/preview`, { json: { passphrase: PASSPHRASE } })
      expect(looked.body, looked.text).toMatchObject({ refused: null })
    })

    test('is the first one again after the restore, but for what belongs to itself', async () => {
      const mine = await own()
      const json = { file_name: `${archive}@${stick.id}`, passphrase: PASSPHRASE }
      const asked = await call('POST', '/backup/restore', { json })
      expect(asked.status, asked.text).toBe(202)
      await machine.until('what is restored', async () =>
        (await root.read('repos/.restored.json')).includes('"followed":true'),
      )
      await machine.healthy()
      await signIn(ADA)
      await signIn()
      expect(await state()).toEqual(before)
      expect(await own()).toEqual(mine)
    })

    test('its clients go on with the key that they trust', async () => {
      expect(await client.update()).toMatchObject({ code: 0 })
      expect(await client.install('world')).toMatchObject({ code: 0 })
      expect(await client.installedVersion('world')).toBe('1.0')
    })
  },
)
