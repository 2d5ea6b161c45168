import { createHash } from 'node:crypto'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { createDnfRoot } from '../support/dnf.ts'
import { buildRpm } from '../support/packages-rpm.ts'
import { buildDeb } from '../support/packages.ts'
import { COMPS, modulesYaml, UPDATEINFO } from '../support/rpm-documents.ts'
import { lacking, mustRun, run } from '../support/tools.ts'

const md5 = (text: string): string => createHash('md5').update(text).digest('hex')

const noClients = lacking('apt', 'appstream', 'gpgv', 'gnupg', 'dnf', 'locales', 'rpm').length > 0

describe.skipIf(noClients)('documents of a tree (needs apt, appstream, locales, dnf, rpm, gnupg)', () => {
  let daemon: Daemon
  let token: string
  const roots: { close(): Promise<void> }[] = []
  beforeAll(async () => {
    daemon = await startDaemon()
    token = await daemon.setupAdmin()
    const init = await daemon.call('POST', '/distributions/init', { token, body: {} })
    expect(init, init.text).toMatchObject({ status: 200 })
  })
  afterAll(async () => {
    for (const root of roots) await root.close()
    await daemon.close()
  })

  const put = async (path: string, content: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${daemon.url}/api/v1/distributions/${path}`, {
      method: 'PUT',
      headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/octet-stream' },
      body: content,
    })
    return { status: answer.status, ...((await answer.json()) as Record<string, unknown>) }
  }
  const inTree = async (path: string, mark: string): Promise<void> => {
    await expect
      .poll(async () => (await (await fetch(`${daemon.url}/repos/${path}`)).text()).includes(mark), { timeout: 30_000 })
      .toBe(true)
  }
  const key = async (): Promise<string> => (await daemon.call('GET', '/repos/gpg.key')).text

  test('apt of a German machine fetches the translation and prints it, and with appstream’s configuration the components', async () => {
    const fields = { Description: 'says hello\n Friendly.' }
    const bytes = await buildDeb({ name: 'hello', version: '1.0', fields })
    expect(await daemon.upload(bytes, { token, filename: 'h.deb', distribution: 'jammy' })).toMatchObject({
      status: 201,
    })
    const sum = md5('says hello\n Friendly.\n')
    const german = `Package: hello\nDescription-md5: ${sum}\nDescription-de: grüßt\n Freundlich.\n`
    expect(await put('jammy/documents/translation?component=main&name=de', german)).toMatchObject({
      status: 200,
      entries: 1,
    })
    const components = `---\nFile: DEP-11\nVersion: '1.0'\nOrigin: gatehouse\n---\nType: desktop-application\nID: org.example.hello\nPackage: hello\nName:\n  C: Hello\nSummary:\n  C: Says hello\n`
    expect(await put('jammy/documents/appstream?component=main&arch=amd64', components)).toMatchObject({
      status: 200,
      entries: 1,
    })
    await inTree('dists/jammy/Release', 'main/dep11/Components-amd64.yml.xz')
    const root: AptRoot = await createAptRoot({ source: `${daemon.url}/repos jammy main`, key: await key() })
    roots.push(root)
    const conf = join(root.folder, 'apt.conf')
    await writeFile(conf, (await readFile(conf, 'utf8')).replace('Acquire::Languages "none";', ''))
    // as appstream brings it, but for its hook, which would work on this machine
    const parts = join(root.folder, 'etc/apt/apt.conf.d')
    await cp('/etc/apt/apt.conf.d/50appstream', join(parts, '50appstream'))
    await writeFile(join(parts, '60no-hook'), '#clear APT::Update::Post-Invoke-Success;\n')
    await mustRun('localedef', ['-i', 'de_DE', '-f', 'UTF-8', join(root.folder, 'de_DE.UTF-8')])
    const env = { APT_CONFIG: conf, LOCPATH: root.folder, LC_ALL: 'de_DE.UTF-8' }
    await mustRun('apt-get', ['update'], { env })
    const shown = await mustRun('apt-cache', ['show', 'hello'], { env })
    expect(shown).toContain('Description-de: grüßt\n Freundlich.\n')
    const plain = await mustRun('apt-cache', ['show', 'hello'], { env: { ...env, LC_ALL: 'C.UTF-8' } })
    expect(plain).toMatch(/Description(-en)?: says hello\n Friendly\.\n/)
    const lists = await readdir(join(root.folder, 'var/lib/apt/lists'))
    expect(lists.filter(name => /Translation-de|dep11_Components/.test(name))).toHaveLength(2)

    // what is English must be what apt itself computes
    const wrong = `Package: hello\nDescription-md5: ${md5('x')}\nDescription-en: says hello\n Friendly.\n`
    expect(await put('jammy/documents/translation?component=main&name=en', wrong)).toMatchObject({
      status: 422,
      code: 'bad_document',
      detail: [{ msg: expect.stringContaining(`apt computes ${sum}`) as unknown }],
    })
    expect(await put('jammy/documents/translation?component=main&name=en', wrong.replace(md5('x'), sum))).toMatchObject(
      {
        status: 200,
      },
    )
    // the list knows them, and one that is taken away leaves the tree
    const removed = await daemon.call('DELETE', '/distributions/jammy/documents/translation?component=main&name=de', {
      token,
    })
    expect(removed).toMatchObject({
      status: 200,
      body: { documents: [{ kind: 'appstream' }, { kind: 'translation', name: 'en' }] },
    })
    await expect
      .poll(async () =>
        (await (await fetch(`${daemon.url}/repos/dists/jammy/Release`)).text()).includes('Translation-de'),
      )
      .toBe(false)
  })

  test('apt obeys NotAutomatic and ButAutomaticUpgrades, and refuses a root past its end', async () => {
    const answer = await daemon.call('PATCH', '/distributions/jammy/release', {
      token,
      body: { not_automatic: true, but_automatic_upgrades: true, valid_days: 7 },
    })
    expect(answer, answer.text).toMatchObject({ status: 200, body: { valid_days: 7 } })
    await inTree('dists/jammy/Release', 'ButAutomaticUpgrades: yes')
    const root = await createAptRoot({ source: `${daemon.url}/repos jammy main`, key: await key() })
    roots.push(root)
    expect(await root.update()).toMatchObject({ code: 0 })
    expect(await root.policy('hello')).toMatch(/1\.0 100\n\s+100 http/)
    const late = join(root.folder, 'late.conf')
    // a client whose own limit is over sees what it would see of a root that nobody signed again
    await writeFile(late, `${await readFile(join(root.folder, 'apt.conf'), 'utf8')}Acquire::Max-ValidTime "1";\n`)
    await root.forgetLists()
    const refused = async (): Promise<string> => (await run('apt-get', ['update'], { env: { APT_CONFIG: late } })).err
    await expect.poll(refused, { timeout: 20_000 }).toMatch(/is expired \(invalid since/)
    const rpm = await daemon.call('PATCH', '/distributions/almalinux9/release', { token, body: { valid_days: 7 } })
    expect(rpm).toMatchObject({ status: 422, body: { code: 'no_release_words' } })
  })

  test('dnf lists the module, the group and the advisory that were put', async () => {
    for (const [name, version, arch] of [
      ['hello', '1.0', 'x86_64'],
      ['world', '1.0', 'noarch'],
      ['world', '2.0', 'noarch'],
    ] as const) {
      const bytes = await buildRpm({ name, version, release: '1', arch })
      expect(await daemon.upload(bytes, { token, filename: 'p.rpm', distribution: 'almalinux9' })).toMatchObject({
        status: 201,
      })
    }
    for (const [kind, content, entries] of [
      ['modules', modulesYaml('x86_64'), 1],
      ['group', COMPS, 1],
      ['updateinfo', UPDATEINFO, 1],
    ] as const)
      expect(await put(`almalinux9/documents/${kind}?arch=x86_64`, content)).toMatchObject({ status: 200, entries })
    await inTree('almalinux9/x86_64/repodata/repomd.xml', 'type="updateinfo"')
    await inTree('almalinux9/x86_64/repodata/repomd.xml', 'type="group_gz"')
    const client = await createDnfRoot({
      baseurl: `${daemon.url}/repos/almalinux9/x86_64/`,
      key: await key(),
      signedPackages: false,
    })
    roots.push(client)
    expect(await client.refresh()).toMatchObject({ code: 0 })
    const dnf = async (...args: readonly string[]): Promise<string> => (await client.dnf(...args)).out
    expect(await dnf('module', 'list')).toMatch(/greeter\s+1 \[d\]\s+common \[d\]/)
    expect(await dnf('group', 'list')).toContain('Greetings')
    // it lists what mends something that is installed
    expect(await client.install('world-1.0')).toMatchObject({ code: 0 })
    expect(await dnf('updateinfo', 'list')).toContain('EX-2026:0001')
  })

  test('a document that clients could not read is refused, and nothing changes', async () => {
    const before = await daemon.call('GET', '/distributions/almalinux9/documents', { token })
    for (const [kind, content, why] of [
      ['modules', 'a: b: c', /no YAML/],
      ['modules', 'document: other\nversion: 1\ndata: {}\n', /none of modulemd/],
      ['group', '<comps><group></comps>', /no XML/],
      ['group', '<updates/>', /a document of/],
      ['updateinfo', '<!DOCTYPE x [<!ENTITY a "b">]><updates/>', /entities/],
    ] as const)
      expect(await put(`almalinux9/documents/${kind}?arch=x86_64`, content)).toMatchObject({
        status: 422,
        code: 'bad_document',
        detail: [{ msg: expect.stringMatching(why) as unknown }],
      })
    expect(await put('almalinux9/documents/group', COMPS)).toMatchObject({ status: 422, code: 'bad_document' })
    expect(await put('almalinux9/documents/group?arch=mips', COMPS)).toMatchObject({
      status: 422,
      code: 'bad_document',
    })
    expect(await put('almalinux9/documents/translation?component=main&name=de', 'x')).toMatchObject({
      status: 422,
      code: 'unknown_document',
    })
    expect(await put('alpine3.20/documents/modules?arch=x86_64', 'x')).toMatchObject({ code: 'unknown_document' })
    expect((await daemon.call('GET', '/distributions/almalinux9/documents', { token })).body).toEqual(before.body)
  })

  test('documents are copied to another distribution on request, and are on disk', async () => {
    const body = { from_distribution: 'almalinux9' }
    const copied = await daemon.call('POST', '/distributions/rocky9/documents/copy', { token, body })
    expect(copied, copied.text).toMatchObject({
      status: 200,
      body: { documents: [{ kind: 'group' }, { kind: 'modules' }, { kind: 'updateinfo' }] },
    })
    await expect
      .poll(async () => (await readdir(join(daemon.root, 'documents', 'rocky9')).catch(() => [])).sort())
      .toHaveLength(6)
  })

  test('a lost database is filled from the disk', async context => {
    context.skip(daemon.databaseUrl !== undefined, 'only the embedded database lies in the folder')
    const path = '/distributions/almalinux9/documents'
    const before = await daemon.call<{ documents: unknown }>('GET', path, { token })
    await daemon.stop()
    await rm(join(daemon.root, '.pg'), { recursive: true, force: true })
    await daemon.restart()
    token = await daemon.setupAdmin()
    await expect
      .poll(async () => (await daemon.call<{ documents: unknown }>('GET', path, { token })).body.documents, {
        timeout: 30_000,
      })
      .toEqual(before.body.documents)
    expect(before.body.documents).toHaveLength(3)
  })
})
