import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildSdist, buildWheel, sdistName, wheelName, type PythonSpec } from '../support/packages-pypi.ts'
import { createPython, noPip, poetry, pythons, twine, uv, type PythonClient } from '../support/python.ts'
import { run, type Ran } from '../support/tools.ts'

const JSON_TYPE = 'application/vnd.pypi.simple.v1+json'
interface Listed {
  readonly filename: string
  readonly yanked: string | false
}

describe.skipIf(noPip !== undefined)('Python clients (needs python3-venv)', () => {
  let daemon: Daemon
  let admin: string
  let token: string
  let client: PythonClient

  const ask = (method: string, path: string, body?: object): Promise<Answer> =>
    daemon.call(method, path, { token: admin, ...(body === undefined ? {} : { body }) })
  const base = (registry = 'ours'): string => `${daemon.url}/pypi/${registry}`
  const index = (registry = 'ours'): string => `${base(registry)}/simple/`
  const policy = async (onUnavailable: 'hold' | 'warn'): Promise<void> => {
    const answer = await ask('PATCH', '/settings/', { validation: { on_scanner_unavailable: onUnavailable } })
    expect(answer.status, answer.text).toBe(200)
  }

  beforeAll(async () => {
    daemon = await startDaemon()
    admin = await daemon.setupAdmin()
    for (const name of ['ours', 'shut']) {
      const made = await ask('POST', '/registries/', { name, format: 'pypi' })
      expect(made.status, made.text).toBe(201)
    }
    const closed = await ask('PUT', '/access/distributions/shut', { private: true, roles: ['maintainer'] })
    expect(closed.status, closed.text).toBe(200)
    token = String((await ask('POST', '/auth/api-tokens', { name: 'builds', role: 'uploader' })).body.token)
    await policy('warn')
    client = await createPython()
  })
  afterAll(async () => {
    await client.close()
    await daemon.close()
  })

  /** As twine sends it. */
  async function post(
    filename: string,
    bytes: Buffer,
    more: Readonly<Record<string, string>> = {},
    key = token,
    registry = 'ours',
  ): Promise<{ readonly status: number; readonly reason: string; readonly text: string }> {
    const form = new FormData()
    for (const [name, value] of Object.entries({ ':action': 'file_upload', 'protocol_version': '1', ...more }))
      form.set(name, value)
    form.set('content', new Blob([new Uint8Array(bytes)]), filename)
    const headers = { Authorization: `Basic ${Buffer.from(`__token__:${key}`).toString('base64')}` }
    const response = await fetch(`${base(registry)}/legacy/`, { method: 'POST', body: form, headers })
    return { status: response.status, reason: response.statusText, text: await response.text() }
  }
  const postWheel = (spec: PythonSpec): ReturnType<typeof post> => post(wheelName(spec), buildWheel(spec))
  async function written(spec: PythonSpec, kind: 'wheel' | 'sdist' = 'wheel'): Promise<string> {
    const folder = join(client.folder, 'dist')
    await mkdir(folder, { recursive: true })
    const path = join(folder, kind === 'wheel' ? wheelName(spec) : sdistName(spec))
    await writeFile(path, kind === 'wheel' ? buildWheel(spec) : buildSdist(spec))
    return path
  }
  async function listed(name: string): Promise<readonly Listed[]> {
    const response = await fetch(`${index()}${name}/`, { headers: { Accept: JSON_TYPE } })
    return response.status === 404 ? [] : ((await response.json()) as { files: Listed[] }).files
  }
  const install = (...args: readonly string[]): Promise<Ran> => client.pip('install', '-i', index(), ...args)

  test('pip installs, upgrades with a dependency by the metadata alone, and removes', async () => {
    for (const spec of [
      { name: 'Our.Hello', version: '1.0', fields: { 'Requires-Python': '>=3.6' } },
      { name: 'our-base', version: '1.5' },
      { name: 'our-base', version: '2.0' },
    ])
      expect(await postWheel(spec)).toMatchObject({ status: 200 })
    expect(await install('our.hello')).toMatchObject({ code: 0 })
    expect(await client.value('our_hello', 'our_hello.VERSION')).toBe('1.0')
    const next = { name: 'Our.Hello', version: '1.1', fields: { 'Requires-Dist': 'our_base>=1,<2' } }
    expect(await postWheel(next)).toMatchObject({ status: 200 })
    const upgraded = await install('-U', '-v', 'our-hello')
    expect(upgraded).toMatchObject({ code: 0 })
    // pip before 23.2 does not know the field, and takes the wheel
    const knows = !/Using pip (?:1\d|2[0-2]|23\.[01])\./.test(upgraded.out)
    expect(upgraded.out.includes('our_base-1.5-py3-none-any.whl.metadata')).toBe(knows)
    expect(upgraded.out).not.toContain('Downloading our_base-2.0-py3-none-any.whl (')
    expect(await client.value('our_hello, our_base', 'our_hello.VERSION, our_base.VERSION')).toBe('1.1 1.5')
    expect(await client.pip('uninstall', '-y', 'our-hello')).toMatchObject({ code: 0 })
    expect(await client.pip('show', 'our-hello')).toMatchObject({ code: 1 })
  })

  test.each(pythons)('the pip of %s installs a wheel with what it needs', async python => {
    for (const spec of [
      { name: 'any-base', version: '1.0' },
      { name: 'any-app', version: '1.0', fields: { 'Requires-Dist': 'any-base' } },
    ])
      await postWheel(spec)
    const other = await createPython(python)
    try {
      expect(await other.pip('install', '-i', index(), 'any-app')).toMatchObject({ code: 0 })
      expect(await other.value('any_app, any_base', 'any_app.VERSION, any_base.VERSION')).toBe('1.0 1.0')
    } finally {
      await other.close()
    }
  })

  test('a held version is passed over, and who asks for it reads why; approved it is installed', async () => {
    expect(await postWheel({ name: 'late', version: '1.0' })).toMatchObject({ status: 200 })
    await policy('hold')
    const held = await postWheel({ name: 'late', version: '2.0' })
    await policy('warn')
    expect(held.status, held.text).toBe(202)
    expect(held.reason).toMatch(/^Held for review by Gatehouse: /)
    // the wheel is not out, so its source must not be built instead
    const source = { name: 'late', version: '2.0' }
    expect(await post(sdistName(source), buildSdist(source))).toMatchObject({
      status: 202,
      reason: 'Held for review by Gatehouse: late-2.0-py3-none-any.whl of the same version is not out either.',
    })
    expect(await install('late')).toMatchObject({ code: 0 })
    expect(await client.value('late', 'late.VERSION')).toBe('1.0')
    const pinned = await install('late==2.0')
    expect(pinned.code).toBe(1)
    expect(pinned.out).toMatch(/403 Client Error: Held for review by Gatehouse: /)
    if (uv !== undefined)
      expect((await client.uv(['pip', 'install', '--default-index', index(), 'late==2.0'])).out).toMatch(
        /403 Held for review by Gatehouse: /,
      )
    const decision = { decision: 'approve', justification: 'Looked at.', distribution: 'ours', all: true }
    for (const arch of ['py3-none-any', 'sdist']) {
      const approved = await ask('POST', '/security/packages/late/2.0/decide', { ...decision, arch })
      expect(approved.status, approved.text).toBe(200)
    }
    expect((await listed('late')).map(({ yanked }) => yanked)).toEqual([false, false, false])
    expect(await install('late==2.0')).toMatchObject({ code: 0 })
  })

  test('the same bytes are taken again, other bytes and other names are refused', async () => {
    const spec = { name: 'fixed', version: '1.0' }
    expect(await postWheel(spec)).toMatchObject({ status: 200, text: 'fixed-1.0-py3-none-any.whl is published.\n' })
    expect(await postWheel(spec)).toMatchObject({ status: 200, text: 'fixed-1.0-py3-none-any.whl was here already.\n' })
    const before = await listed('fixed')
    const other = await post(wheelName(spec), buildWheel({ ...spec, files: { 'x.py': 'other' } }))
    expect(other.status).toBe(409)
    expect(other.reason).toMatch(/^File already exists\. /)
    const liar = await post(wheelName({ name: 'liar', version: '1.0' }), buildWheel(spec))
    expect(liar.status).toBe(422)
    expect(liar.reason).toContain('is refused: its folder "fixed-1.0.dist-info" is not named after "liar 1.0"')
    expect(
      await post('fixed-1.1-py3-none-any.whl', Buffer.from('no'), { sha256_digest: '0'.repeat(64) }),
    ).toMatchObject({ status: 400 })
    expect(await listed('fixed')).toEqual(before)
    expect(await listed('liar')).toEqual([])
  })

  test('without a credential, or with a wrong one, nothing is taken', async () => {
    const spec = { name: 'nobody', version: '1.0' }
    expect(await post(wheelName(spec), buildWheel(spec), {}, 'nonsense')).toMatchObject({ status: 401 })
    const { status } = await fetch(`${base()}/legacy/`, { method: 'POST', body: new FormData() })
    expect(status).toBe(401)
    expect(await listed('nobody')).toEqual([])
  })

  test('a private registry asks pip for a token and takes one in the address', async () => {
    const spec = { name: 'secret', version: '1.0' }
    expect(await post(wheelName(spec), buildWheel(spec), {}, admin, 'shut')).toMatchObject({ status: 200 })
    const download = (address: string): Promise<Ran> =>
      client.pip('download', '--no-deps', '--no-input', '-d', client.folder, '-i', address, 'secret')
    expect(await download(index('shut'))).toMatchObject({ code: 1 })
    expect((await fetch(`${index('shut')}secret/`)).headers.get('www-authenticate')).toMatch(/^Basic realm=/)
    const { body } = await ask('POST', '/auth/api-tokens', {
      ...{ name: 'machine', role: 'reader', scopes: { distributions: ['shut'] } },
    })
    const address = index('shut').replace('://', `://gatehouse:${String(body.token)}@`)
    expect(await download(address)).toMatchObject({ code: 0 })
  })

  test('a removed version is in no list, and its address answers 404', async () => {
    expect(await postWheel({ name: 'brief', version: '1.0' })).toMatchObject({ status: 200 })
    expect((await ask('DELETE', '/artifacts/brief/1.0?distribution=ours')).status).toBe(200)
    expect(await listed('brief')).toEqual([])
    expect((await fetch(`${base()}/files/brief/brief-1.0-py3-none-any.whl`)).status).toBe(404)
  })

  test('a yanked version is passed over, comes by its exact number with the reason, and can come back', async () => {
    for (const version of ['1.0', '1.1'])
      expect(await postWheel({ name: 'regret', version })).toMatchObject({ status: 200 })
    const path = '/registries/ours/packages/regret/versions/1.1/yank'
    expect((await ask('PUT', path, { reason: 'It loses data.' })).status).toBe(204)
    expect((await listed('regret')).map(({ yanked }) => yanked)).toEqual([false, 'It loses data.'])
    expect(await install('regret')).toMatchObject({ code: 0 })
    expect(await client.value('regret', 'regret.VERSION')).toBe('1.0')
    const pinned = await install('regret==1.1')
    expect(pinned).toMatchObject({ code: 0 })
    expect(pinned.out).toContain('It loses data.')
    expect((await ask('DELETE', path)).status).toBe(204)
    expect((await listed('regret')).map(({ yanked }) => yanked)).toEqual([false, false])
    expect((await ask('PUT', path.replace('1.1', '9'), { reason: 'x' })).status).toBe(404)
    // the address that serves every format does the same
    const mark = path.replace(/yank$/, 'mark')
    expect((await ask('PUT', mark, { reason: '' })).status).toBe(422)
    expect((await ask('PUT', mark, { reason: 'It is slow.' })).status).toBe(204)
    expect((await listed('regret')).map(({ yanked }) => yanked)).toEqual([false, 'It is slow.'])
    expect((await install('regret==1.1', '--force-reinstall')).out).toContain('It is slow.')
    const said = { kind: 'yanked', reason: 'It is slow.' }
    expect((await ask('GET', '/artifacts/regret?distribution=ours')).body).toMatchObject({
      versions: [
        { version: '1.1', mark: said },
        { version: '1.0', mark: null },
      ],
    })
    expect((await ask('GET', '/registries/ours/packages?q=regret')).body).toMatchObject({
      packages: [{ newest: [{ version: '1.1', mark: said }, { mark: null }] }],
    })
    expect((await ask('GET', '/packages/?q=regret')).body).toMatchObject({ items: [{ mark: said }, { mark: null }] })
    expect((await ask('DELETE', mark)).status).toBe(204)
    expect((await ask('GET', '/packages/?q=regret')).body).toMatchObject({ items: [{ mark: null }, { mark: null }] })
    const lines = (await ask('GET', '/artifacts/audit/logs?package=regret')).text
    expect(lines).toContain('Yanked. It loses data.')
  })

  test('names redirect to their one spelling, pages are conditional, files have ranges', async () => {
    expect(await postWheel({ name: 'many.Names', version: '1.0' })).toMatchObject({ status: 200 })
    const moved = await fetch(`${index()}Many_Names`, { redirect: 'manual' })
    expect([moved.status, moved.headers.get('location')]).toEqual([301, `${index()}many-names/`])
    const page = await fetch(`${index()}many-names/`)
    const again = await fetch(`${index()}many-names/`, {
      headers: { 'If-None-Match': page.headers.get('etag') ?? '', 'Cache-Control': 'max-age=0' },
    })
    expect([page.status, again.status]).toEqual([200, 304])
    const part = await fetch(`${base()}/files/many-names/many_Names-1.0-py3-none-any.whl`, {
      headers: { Range: 'bytes=0-3' },
    })
    expect([part.status, await part.text()]).toEqual([206, 'PK\u0003\u0004'])
    const json = (await (await fetch(`${base()}/pypi/many-names/json`)).json()) as { info: object }
    expect(json.info).toMatchObject({ name: 'many.Names', version: '1.0' })
  })

  describe.skipIf(twine === undefined)('twine (on PATH, or named by TWINE)', () => {
    const upload = (key: string, ...paths: readonly string[]): Promise<Ran> =>
      run(twine ?? 'twine', ['upload', '--non-interactive', '--disable-progress-bar', ...paths], {
        env: {
          HOME: client.folder,
          TWINE_REPOSITORY_URL: `${base()}/legacy/`,
          TWINE_USERNAME: '__token__',
          TWINE_PASSWORD: key,
          COLUMNS: '1000',
        },
      })

    test('uploads a wheel and a source release, and shows why something is refused', async () => {
      const spec = { name: 'by-twine', version: '1.0' }
      expect(await upload(token, await written(spec), await written(spec, 'sdist'))).toMatchObject({ code: 0 })
      expect((await listed('by-twine')).map(({ filename }) => filename).sort()).toEqual([
        'by_twine-1.0-py3-none-any.whl',
        'by_twine-1.0.tar.gz',
      ])
      const other = await upload(token, await written({ ...spec, files: { 'x.py': 'other' } }))
      expect(other.code).toBe(1)
      expect(`${other.out}${other.err}`).toContain('File already exists.')
      const wrong = await upload('nonsense', await written({ name: 'by-twine', version: '1.1' }))
      expect(wrong.code).toBe(1)
      expect(`${wrong.out}${wrong.err}`).toContain('The credential is invalid')
    })
  })

  describe.skipIf(uv === undefined)('uv (on PATH, or named by UV)', () => {
    test('publishes, installs, and goes by the time of publication here', async () => {
      const path = await written({ name: 'by-uv', version: '1.0' })
      const publish = ['publish', '--publish-url', `${base()}/legacy/`, path]
      expect(await client.uv(publish, { UV_PUBLISH_TOKEN: token })).toMatchObject({ code: 0 })
      const from = (year: string): string[] => [
        'pip',
        'install',
        '--default-index',
        index(),
        '--exclude-newer',
        `${year}-01-01`,
        'by-uv',
      ]
      expect((await client.uv(from('2001'))).code).toBe(1)
      expect(await client.uv(from('2999'))).toMatchObject({ code: 0 })
      expect(await client.value('by_uv', 'by_uv.VERSION')).toBe('1.0')
    })
  })

  test.skipIf(poetry === undefined)('poetry publishes (on PATH, or named by POETRY)', async () => {
    const path = join(client.folder, 'project')
    await mkdir(join(path, 'dist'), { recursive: true })
    const spec = { name: 'by-poetry', version: '1.0' }
    await writeFile(join(path, 'pyproject.toml'), '[project]\nname = "by-poetry"\nversion = "1.0"\ndescription = "x"\n')
    await writeFile(join(path, 'dist', wheelName(spec)), buildWheel(spec))
    const env = {
      ...{ HOME: client.folder, POETRY_NO_INTERACTION: '1', POETRY_REPOSITORIES_OURS_URL: `${base()}/legacy/` },
      ...{ POETRY_HTTP_BASIC_OURS_USERNAME: 'x', POETRY_HTTP_BASIC_OURS_PASSWORD: token },
      PYTHON_KEYRING_BACKEND: 'keyring.backends.null.Keyring',
    }
    const ran = await run(poetry ?? 'poetry', ['publish', '--repository', 'ours'], { cwd: path, env })
    expect(ran, `${ran.out}${ran.err}`).toMatchObject({ code: 0 })
    expect(await listed('by-poetry')).toHaveLength(1)
  })
})
