import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { dpkgLine, report } from '../support/machine-report.ts'
import { buildDeb } from '../support/packages.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

type Body = Record<string, unknown>
interface Machine {
  readonly id: number
  readonly token: string
}

let it: Daemon
let admin: string
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-inventory-'))
  it = await startDaemon()
  admin = await it.setupAdmin()
  await it.call('POST', '/distributions/init', { token: admin, body: { codename: 'bookworm' } })
})
afterAll(async () => {
  await it.close()
  await rm(folder, { recursive: true, force: true })
})

const call = <B = Body>(method: string, path: string, body?: unknown): Promise<Answer<B>> =>
  it.call<B>(method, path, { token: admin, ...(body === undefined ? {} : { body }) })

async function add(hostname: string, more: object = {}): Promise<Machine> {
  const { body } = await call<{ id: number; agent_token: string }>('POST', '/inventory/clients', {
    hostname,
    connection_type: 'agent',
    ...more,
  })
  return { id: body.id, token: body.agent_token }
}

async function tell({ token }: Pick<Machine, 'token'>, text: string | Buffer): Promise<{ status: number; body: Body }> {
  const answer = await fetch(`${it.url}/api/v1/inventory/report`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: typeof text === 'string' ? text : new Uint8Array(text),
  })
  return { status: answer.status, body: (await answer.json()) as Body }
}

const show = async ({ id }: Machine): Promise<Body> => (await call('GET', `/inventory/clients/${id}`)).body
const items = async (path: string): Promise<readonly Body[]> =>
  (await call<{ items: readonly Body[] }>('GET', path)).body.items
/** Waits until it was compared since a moment. */
async function compared(machine: Machine, expected: object): Promise<Body> {
  await expect.poll(() => show(machine), { timeout: 20_000 }).toMatchObject(expected)
  return show(machine)
}
const remove = ({ id }: Machine) => call('DELETE', `/inventory/clients/${id}`)

async function loadAdvisories(records: readonly object[]): Promise<void> {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(osvZip(records))]), 'all.zip')
  expect((await it.call('POST', '/security/database', { token: admin, form })).status).toBe(200)
}

describe('a machine that reports itself', () => {
  test('its facts and packages are what it told last, and each change is in its history', async () => {
    const machine = await add('plc-gw-07')
    const first = await tell(machine, report({ lines: [dpkgLine('adduser', '3.134'), dpkgLine('old', '1')] }))
    expect([first.status, first.body]).toEqual([
      200,
      { client_id: machine.id, packages: 2, message: '2 packages are taken.' },
    ])
    const lines = [dpkgLine('adduser', '3.135'), dpkgLine('new', '2')]
    await tell(machine, report({ lines, reboot: ['needed', 'libc6'] }))
    expect(await show(machine)).toMatchObject({
      hostname: 'plc-gw-07',
      ip: '127.0.0.1',
      distro_id: 'debian',
      distro_version: '12',
      distro_codename: 'bookworm',
      distro_pretty: 'Debian GNU/Linux 12 (bookworm)',
      grype_distro: 'debian:12',
      distribution: 'bookworm',
      kernel: '6.1.0-21-amd64',
      arch: 'amd64',
      reboot: 'needed',
      reboot_said: 'The system says that it waits for a restart, for libc6.',
      packages: 2,
      last_scan_status: 'ok',
      last_error: null,
    })
    const packages = await items(`/inventory/clients/${machine.id}/packages`)
    expect(packages.map(({ name, version, arch, source }) => [name, version, arch, source])).toEqual([
      ['adduser', '3.135', 'amd64', 'adduser'],
      ['new', '2', 'amd64', 'new'],
    ])
    const history = await items(`/inventory/clients/${machine.id}/history`)
    expect(
      history.map(({ status, packages: n, added, removed, changed, changes }) => ({
        status,
        n,
        added,
        removed,
        changed,
        changes,
      })),
    ).toEqual([
      {
        status: 'ok',
        n: 2,
        added: 1,
        removed: 1,
        changed: 1,
        changes: [
          { name: 'adduser', arch: 'amd64', from: '3.134', to: '3.135' },
          { name: 'new', arch: 'amd64', from: null, to: '2' },
          { name: 'old', arch: 'amd64', from: '1', to: null },
        ],
      },
      { status: 'ok', n: 2, added: 0, removed: 0, changed: 0, changes: [] },
    ])
    await remove(machine)
  })

  test('a report that was cut leaves what was known, and says why', async () => {
    const machine = await add('hmi-12')
    const whole = report({ lines: [dpkgLine('adduser', '3.134')] })
    await tell(machine, whole)
    const cut = await tell(machine, whole.slice(0, whole.indexOf('==> end')))
    const [{ msg: said }] = cut.body.detail as [{ msg: string }]
    expect([cut.status, cut.body.code, said]).toEqual([
      422,
      'inventory_bad_report',
      'The report is refused: it was cut off: its last mark is missing. What was known before is still there.',
    ])
    expect(await show(machine)).toMatchObject({
      packages: 1,
      last_scan_status: 'error',
      last_error_code: 'inventory_bad_report',
      last_error: said,
    })
    const huge = await tell(machine, Buffer.alloc(8 * 1024 * 1024 + 1, 0x20))
    expect([huge.status, huge.body.code]).toEqual([413, 'body_too_large'])
    expect(await items(`/inventory/clients/${machine.id}/packages`)).toHaveLength(1)
    await remove(machine)
  })

  test('its token opens nothing else, ends with the machine, and a fresh one replaces it', async () => {
    const [mine, other] = [await add('badge-01'), await add('badge-02')]
    const text = report({ lines: [dpkgLine('adduser', '3.134')] })
    for (const path of ['/inventory/clients', '/inventory/summary', '/auth/me', `/inventory/clients/${mine.id}`])
      expect((await it.call('GET', path, { token: mine.token })).status, path).toBe(401)
    const { body: fresh } = await call<{ agent_token: string; install_command: string }>(
      'POST',
      `/inventory/clients/${mine.id}/agent-token`,
    )
    expect(fresh.install_command).toBe(
      `curl -fsS ${it.url}/api/v1/inventory/agent.sh | GATEHOUSE_URL=${it.url} GATEHOUSE_TOKEN=${fresh.agent_token} sh`,
    )
    expect((await tell(mine, text)).body.code).toBe('bad_credential')
    expect((await tell({ token: fresh.agent_token }, text)).body.client_id).toBe(mine.id)
    expect((await tell({ token: admin }, text)).body.code).toBe('bad_credential')
    await remove(mine)
    expect((await tell({ token: fresh.agent_token }, text)).body.code).toBe('bad_credential')
    expect(await show(other)).toMatchObject({ packages: null, last_scan_status: 'never' })
    await call('PATCH', `/inventory/clients/${other.id}`, { enabled: false })
    expect((await tell(other, text)).body.code).toBe('inventory_disabled')
    await remove(other)
  })
})

describe('what is newer here, and what is wrong', () => {
  test('without data nothing is known of findings; with them each update says what it closes', async () => {
    for (const version of ['3.0.17-1', '3.0.18-1'])
      expect(
        (await it.upload(await buildDeb({ name: 'openssl', version }), { token: admin, distribution: 'bookworm' }))
          .status,
      ).toBe(201)
    const machine = await add('db-north-01')
    await tell(
      machine,
      report({
        lines: [dpkgLine('openssl', '3.0.17-1'), dpkgLine('curl', '7.88.1-10'), dpkgLine('tzdata', '2025b-0')],
      }),
    )
    expect(await compared(machine, { behind: 1 })).toMatchObject({
      findings: null,
      coverage: 'no_data',
      coverage_said: 'No vulnerability data are loaded. An admin imports them on the page Engines.',
    })
    const before = await items(`/inventory/compliance?client_id=${machine.id}&check_id=finding-critical`)
    expect(before).toMatchObject([{ status: 'unknown', level: 'critical', category: 'vulnerabilities' }])

    const critical = { database_specific: { severity: 'CRITICAL' } }
    await loadAdvisories([
      ...Array.from({ length: 120 }, (_, n) =>
        osvRecord(`DEBIAN-CVE-2026-${20_000 + n}`, [['Debian:12', `filler${n}`, '1']]),
      ),
      osvRecord('DEBIAN-CVE-2026-10001', [['Debian:12', 'openssl', '3.0.18-1']], {
        upstream: ['CVE-2026-10001'],
        ...critical,
      }),
      osvRecord('DEBIAN-CVE-2026-10002', [['Debian:12', 'openssl', '3.0.19-1']], { upstream: ['CVE-2026-10002'] }),
      osvRecord('DEBIAN-CVE-2026-10003', [['Debian:12', 'curl', '7.88.1-14']], { upstream: ['CVE-2026-10003'] }),
      osvRecord('DEBIAN-CVE-2026-10004', [['Debian:12', 'tzdata', '']], { upstream: ['CVE-2026-10004'] }),
    ])
    const judged = await compared(machine, { coverage: 'covered', behind: 2 })
    const { critical: nCritical, ...rest } = judged.findings as Record<string, number>
    expect([nCritical, Object.values(rest).reduce((a, b) => a + b, 0)]).toEqual([1, 3])
    const updates = await items(`/inventory/clients/${machine.id}/updates`)
    expect(updates.map(({ name, installed, available, state }) => [name, installed, available, state])).toEqual([
      ['openssl', '3.0.17-1', '3.0.18-1', 'here'],
      ['curl', '7.88.1-10', '7.88.1-14', 'not_here'],
    ])
    expect(updates[0]).toMatchObject({ closes: { critical: 1 } })
    const cves = await items(`/inventory/cve?client_id=${machine.id}`)
    expect(
      cves
        .map(({ cve_id, pkg_name, fix_state, fix_version, update_state }) => [
          cve_id,
          pkg_name,
          fix_state,
          fix_version,
          update_state,
        ])
        .sort(),
    ).toEqual([
      ['CVE-2026-10001', 'openssl', 'fixed', '3.0.18-1', 'here'],
      ['CVE-2026-10002', 'openssl', 'fixed', '3.0.19-1', 'not_here'],
      ['CVE-2026-10003', 'curl', 'fixed', '7.88.1-14', 'not_here'],
      ['CVE-2026-10004', 'tzdata', 'not-fixed', null, null],
    ])
    expect((await call('GET', '/inventory/summary')).body).toMatchObject({
      clients: 1,
      with_findings: { critical: 1 },
      closable_critical: 1,
      findings_unknown: 0,
    })
    expect((await call('GET', `/inventory/clients/${machine.id}/summary`)).body).toMatchObject({
      updates: { here: 1, in_review: 0, not_here: 1 },
      closes: { critical: 1 },
      command: 'sudo apt update && sudo apt upgrade',
    })

    // the update is installed
    await tell(machine, report({ lines: [dpkgLine('openssl', '3.0.18-1'), dpkgLine('tzdata', '2025b-0')] }))
    await compared(machine, { behind: 1, findings: { critical: 0 } })
    await remove(machine)
  })

  test('a system that no data know is unknown, never without findings', async () => {
    const machine = await add('mint-01')
    const osRelease = ['PRETTY_NAME="Linux Mint 22"', 'ID=linuxmint', 'VERSION_ID="22"']
    await tell(machine, report({ lines: [dpkgLine('openssl', '3.0.17-1')], osRelease }))
    expect(await compared(machine, { coverage: 'not_covered' })).toMatchObject({
      grype_distro: null,
      distribution: null,
      behind: null,
      findings: null,
      coverage_said: 'Vulnerability data do not know the system Linux Mint 22, so nothing is known about its packages.',
    })
    // an admin says where its updates come from
    await call('PATCH', `/inventory/clients/${machine.id}`, { distribution: 'bookworm' })
    await compared(machine, { distribution: 'bookworm', behind: 1, findings: null })
    await remove(machine)
  })
})

test('rules are set by an admin and hold at once', async () => {
  const machine = await add('wiki')
  await tell(machine, report({ lines: [dpkgLine('adduser', '3.134')], reboot: ['needed'] }))
  const rules = {
    finding_days: { critical: null, high: null, medium: null, low: null },
    supported_release: true,
    no_reboot_pending: true,
    seen_within_days: 3,
    update_days: null,
  }
  expect((await call('PUT', '/inventory/compliance/rules', rules)).body).toEqual(rules)
  const rows = await items(`/inventory/compliance?client_id=${machine.id}`)
  expect(rows.map(({ check_id, status, detail, remediation }) => [check_id, status, detail, remediation])).toEqual([
    ['supported-release', 'pass', 'Debian GNU/Linux 12 (bookworm) has security updates until 2028-06-30.', ''],
    ['no-reboot-pending', 'fail', 'The system says that it waits for a restart.', 'Restart the machine.'],
    ['seen', 'pass', 'It told its packages less than a day ago.', ''],
  ])
  const failing = await call<{ items: Body[]; total: number }>('GET', '/inventory/clients?compliance=fail')
  expect([failing.body.total, failing.body.items[0]?.id]).toEqual([1, machine.id])
  expect((await call<{ total: number }>('GET', '/inventory/clients?compliance=pass')).body.total).toBe(0)
  await remove(machine)
})

test('an export is a table that no spreadsheet runs, also where names are formulas', async () => {
  const machine = await add('file-01', { label: '=HYPERLINK("http://x","y")' })
  await tell(machine, report({ lines: [dpkgLine('=cmd|calc', '1'), dpkgLine('quoted"name', '1')] }))
  const clients = await call('GET', '/inventory/export?what=clients')
  const [titles = '', row = ''] = clients.text.split('\r\n')
  expect(titles).toMatch(/^id,hostname,ip,label,enabled,/)
  expect(row).toContain(`"'=HYPERLINK(""http://x"",""y"")"`)
  const packages = await call('GET', `/inventory/export?what=packages&client_id=${machine.id}`)
  expect(packages.text.split('\r\n').map(line => line.split(',')[2])).toEqual([
    'name',
    `'=cmd|calc`,
    '"quoted""name"',
    undefined,
  ])
  const json = await call<readonly Body[]>('GET', '/inventory/export?what=packages&format=json')
  expect(json.body.map(({ name }) => name)).toEqual(['=cmd|calc', 'quoted"name'])
  await remove(machine)
})

describe('the reporter', () => {
  const run = promisify(execFile)
  /** A machine below a folder of its own: its files, and programs that stand before those of the system. */
  async function makeRoot(name: string, files: Readonly<Record<string, string>>): Promise<string> {
    const root = join(folder, name)
    for (const [path, text] of Object.entries({ 'etc/cron.d/.keep': '', ...files })) {
      await mkdir(join(root, path, '..'), { recursive: true })
      await writeFile(join(root, path), text)
      if (path.startsWith('bin/')) await chmod(join(root, path), 0o755)
    }
    return root
  }
  const environment = (root: string, more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
    PATH: `${join(root, 'bin')}:${process.env.PATH ?? ''}`,
    GATEHOUSE_ROOT: root,
    ...more,
  })
  async function install(root: string, machine: Machine): Promise<string> {
    const script = await fetch(`${it.url}/api/v1/inventory/agent.sh`)
    const path = join(root, 'agent.sh')
    await writeFile(path, await script.text())
    const { stdout } = await run('dash', [path], {
      env: environment(root, { GATEHOUSE_URL: it.url, GATEHOUSE_TOKEN: machine.token }),
    })
    return stdout
  }
  const OS = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
  const RPM_OS = 'PRETTY_NAME="AlmaLinux 9.4"\nID="almalinux"\nVERSION_ID="9.4"\n'
  // recorded from rpm 4.16 on AlmaLinux 9.4, and from apk 2.14 on Alpine 3.20
  const RPM = [
    'libgcc\t0\t11.4.1-3.el9.alma.1\tx86_64\tgcc-11.4.1-3.el9.alma.1.src.rpm',
    'tzdata\t0\t2024a-1.el9\tnoarch\ttzdata-2024a-1.el9.src.rpm',
    'gpg-pubkey\t0\tb86b3716-61e69f29\t(none)\t(none)',
    'dbus\t1\t1.12.20-8.el9\tx86_64\tdbus-1.12.20-8.el9.src.rpm',
  ]
  const APK = [
    [
      'C:Q1VR0Gkx',
      'P:alpine-baselayout',
      'V:3.6.5-r0',
      'A:x86_64',
      'S:8515',
      'o:alpine-baselayout',
      'F:dev',
      'R:x',
      '',
    ],
    ['C:Q1ZKBUTh', 'P:musl', 'V:1.2.5-r0', 'A:x86_64', 'o:musl', 'F:lib', 'R:ld-musl-x86_64.so.1', 'a:0:0:755', ''],
  ]

  test('of this machine tells what dpkg says, installs itself with a timer, and goes away without a trace', async () => {
    const machine = await add('this-machine')
    const root = await makeRoot('deb', {
      'etc/os-release': OS,
      'var/lib/dpkg/status': 'x',
      'run/systemd/system/.keep': '',
      'run/reboot-required': '',
      'run/reboot-required.pkgs': 'linux-base\nlibc6\nlibc6\n',
    })
    expect(await install(root, machine)).toBe('This machine reports itself every six hours from now on.\n')
    const { stdout } = await run('dpkg-query', ['-W', '-f=${db:Status-Abbrev}\n'])
    const installed = stdout.split('\n').filter(line => /^[ih]i/.test(line)).length
    expect(await show(machine)).toMatchObject({
      packages: installed,
      agent_version: '1',
      grype_distro: 'debian:12',
      reboot: 'needed',
      reboot_said: 'The system says that it waits for a restart, for libc6 linux-base.',
    })
    expect(await readFile(join(root, 'etc/systemd/system/gatehouse-report.timer'), 'utf8')).toContain(
      'OnUnitActiveSec=6h',
    )
    const conf = join(root, 'etc/gatehouse-report.conf')
    expect((await stat(conf)).mode & 0o777).toBe(0o600)
    const reporter = join(root, 'usr/local/sbin/gatehouse-report')
    await run('dash', [reporter], { env: environment(root) })
    expect(await items(`/inventory/clients/${machine.id}/history`)).toHaveLength(2)
    await run('dash', [reporter, '--remove'], { env: environment(root) })
    for (const path of [conf, reporter, join(root, 'etc/systemd/system/gatehouse-report.timer')])
      await expect(stat(path)).rejects.toThrow('ENOENT')
    await remove(machine)
  })

  test.each([
    [
      'rpm',
      {
        'etc/os-release': RPM_OS,
        'usr/lib/sysimage/rpm/rpmdb.sqlite': 'x',
        'bin/rpm': `#!/bin/sh\ncat <<'END'\n${RPM.join('\n')}\nEND\n`,
      },
      'almalinux9',
      ['dbus 1:1.12.20-8.el9', 'libgcc 11.4.1-3.el9.alma.1', 'tzdata 2024a-1.el9'],
    ],
    [
      'apk',
      {
        'etc/os-release': 'ID=alpine\nVERSION_ID=3.20.3\nPRETTY_NAME="Alpine Linux v3.20"\n',
        'lib/apk/db/installed': APK.flat().join('\n'),
        'etc/crontabs/root': '0 2 * * * run-parts /etc/periodic/daily\n',
      },
      'alpine3.20',
      ['alpine-baselayout 3.6.5-r0', 'musl 1.2.5-r0'],
    ],
  ])('of a machine with %s tells its list, and cron starts it', async (name, files, distribution, expected) => {
    const machine = await add(`of-${name}`)
    const root = await makeRoot(name, files)
    await install(root, machine)
    expect(await show(machine)).toMatchObject({ distribution })
    const packages = await items(`/inventory/clients/${machine.id}/packages`)
    expect(packages.map(({ name: one, version }) => `${String(one)} ${String(version)}`)).toEqual(expected)
    const cron = await readFile(
      join(root, name === 'apk' ? 'etc/crontabs/root' : 'etc/cron.d/gatehouse-report'),
      'utf8',
    )
    expect(cron).toMatch(/^\d+ \*\/6 \* \* \* (root )?\/usr\/local\/sbin\/gatehouse-report$/m)
    if (name === 'apk') expect(cron).toContain('run-parts')
    await remove(machine)
  })

  test('says what went wrong: no package manager, a token that ended, a service that is away', async () => {
    const machine = await add('odd')
    const root = await makeRoot('odd', { 'etc/os-release': OS })
    await expect(install(root, machine)).rejects.toThrow(
      /the service answered 422: .*there is neither a dpkg, an rpm nor an apk database on the machine/,
    )
    await writeFile(join(root, 'etc/gatehouse-report.conf'), 'url = "http://127.0.0.1:1/x"\n')
    const reporter = join(root, 'usr/local/sbin/gatehouse-report')
    await expect(run('dash', [reporter], { env: environment(root) })).rejects.toThrow(
      'the service could not be reached',
    )
    await remove(machine)
    await expect(install(root, machine)).rejects.toThrow('the service answered 401')
  })
})
