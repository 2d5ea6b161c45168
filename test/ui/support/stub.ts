// A server of canned answers, to look at the console while no daemon runs. For eyes only: the tests run against the daemon.
import { createReadStream, existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { clientSetup } from '../../../server/core/client-setup.ts'
import { DISTRIBUTIONS } from '../../../server/core/distributions.ts'

/** The console's policy, to the letter. */
export const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' }
const NOW = new Date('2026-11-21T14:32:00Z').getTime()
const ago = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString()

/** What the stub plays. */
export interface Scene { needsSetup: boolean; tokenRequired: boolean; role: string; empty: boolean; quiet: boolean; offline: boolean; limited: boolean; upload: 'published' | 'pending_review' | 'quarantined' | 'conflict' }

const step = (name: string, outcome: string, message: string, verdict = outcome) => ({ name, passed: outcome !== 'failed' && outcome !== 'unavailable', verdict, message, detail: outcome, warning: outcome === 'warned' || outcome === 'unavailable' })
const GOOD = [step('format', 'ok', 'Debian package, amd64, component main'), step('provenance', 'ok', 'The SHA-256 is the one that was computed on arrival'), step('antivirus', 'ok', 'Clean, 61 files unpacked', 'clean'), step('vulnerabilities', 'unavailable', 'There is no vulnerability data yet, so nobody has looked.', 'no_data'), step('signature', 'ok', 'Signed with the key of this repository', 'signed'), step('dependencies', 'warned', 'libc6 (>= 2.34) is not in jammy here', 'missing')]
const HELD = [...GOOD.slice(0, 3), step('vulnerabilities', 'warned', 'CVE-2024-6387 is high; the policy holds high for review.', 'findings'), ...GOOD.slice(4)]
const BAD = [...GOOD.slice(0, 2), step('antivirus', 'failed', 'Antivirus found Eicar-Signature. The file is kept in quarantine; delete it, or ask its maker.', 'infected')]

const names: readonly (readonly [string, string, string, string, string])[] = [
  ['badge-kiosk', '2.0.4-1', 'jammy', 'amd64', 'published'], ['ca-certificates', '20230311+deb12u1', 'bookworm', 'all', 'published'], ['curl', '7.88.1-10+deb12u8', 'bookworm', 'amd64', 'published'],
  ['git', '1:2.39.5-0+deb12u2', 'bookworm', 'amd64', 'pending_review'], ['hello', '2.10-3', 'jammy', 'amd64', 'published'], ['libpng16-16', '1.6.39-2', 'bookworm', 'amd64', 'published'], ['nginx', '1.22.1-9+deb12u10', 'bookworm', 'amd64', 'published'],
  ['nordwerk-agent', '2.8.0-1', 'noble', 'amd64', 'published'], ['openssh-server', '1:8.9p1-3ubuntu0.7', 'jammy', 'amd64', 'pending_review'], ['plant-telemetry', '3.2.1', 'bookworm', 'amd64', 'published'], ['redis-server', '5:7.0.15-1~deb12u5', 'bookworm', 'amd64', 'quarantined'],
  ...Array.from({ length: 60 }, (_, n) => [`sample-tool-${n}`, `1.${n}.0-1`, 'noble', 'amd64', 'published'] as const),
]
const items = names.map(([name, version, distribution, arch, status], n) => ({
  name, version, arch, distribution, format: 'deb', status, cve_status: status === 'published' ? 'approved' : status === 'pending_review' ? 'pending_review' : 'blocked',
  severity: status === 'quarantined' ? 'critical' : n % 4 === 2 ? 'medium' : status === 'pending_review' ? 'high' : null, findings: status === 'published' && n % 4 !== 2 ? 0 : (n % 3) + 1, warned: n % 3 === 0,
  filename: `${name}_${version}_${arch}.deb`, size: (n + 1) ** 4 * 9173 % 48_000_000 + 4000, sha256: 'a1b2c3d4'.repeat(8), summary: `What ${name} is for`, uploaded_by: n % 2 ? 'ci-release' : 'p.raman', source: 'upload', created_at: ago(n * n * 17 + 3), updated_at: ago(n * n * 17 + 2),
}))
const detail = (item: typeof items[number]) => ({
  ...item, manifest_status: 'validated', sha512: 'ef'.repeat(64), sha1: 'cd'.repeat(20), md5: 'ab'.repeat(16), description: 'Gets files from servers and sends files to them.\nSpeaks HTTP, HTTPS and FTP.', source_package: item.name, source_version: item.version, homepage: 'https://example.org/', maintainer: 'Packages <packages@nordwerk.example>', section: 'web', license: null, installed_size: 512_000,
  depends: ['libc6 (>= 2.34)', 'zlib1g'], provides: [], conflicts: [], pipeline: { antivirus: 'clean', cve_scan: 'no_data', gpg: 'signed', dependencies: 'missing' },
  validation: { passed: item.status === 'published', cve_status: item.cve_status, deps_missing: [], steps: item.status === 'quarantined' ? BAD : item.status === 'pending_review' ? HELD : GOOD },
  cves: item.findings === 0 ? [] : [{ id: 'CVE-2024-6387', package: item.name, severity: item.severity ?? 'medium', detected_by: ['embedded'], fixed_version: '1:8.9p1-3ubuntu0.13', summary: 'A race in signal handling lets a remote client run code before it signs in.', kev: item.status === 'quarantined' }], decision: null,
})

const roles = { reader: { label: 'Reader', description: 'Reads packages, distributions, findings and statistics.', color: 'gray' }, auditor: { label: 'Auditor', description: 'Reads everything a reader does, and the audit log and inventory. Changes nothing.', color: 'purple' }, uploader: { label: 'Uploader', description: 'Uploads and imports packages.', color: 'blue' }, maintainer: { label: 'Maintainer', description: 'Decides on held packages, deletes, promotes and quarantines.', color: 'orange' }, admin: { label: 'Admin', description: 'Does everything, and alone manages users, tokens, keys and settings.', color: 'red' } }

export async function startStub(dist: string): Promise<{ url: string; scene: Scene; stop(): Promise<void> }> {
  const scene: Scene = { needsSetup: false, tokenRequired: false, role: 'admin', empty: false, quiet: false, offline: false, limited: false, upload: 'published' }
  const users = () => [
    { username: 'p.raman', role: scene.role, full_name: 'Priya Raman', email: 'p.raman@nordwerk.example', active: true, last_login: ago(12), created_at: ago(90_000) },
    { username: 't.wojcik', role: 'uploader', full_name: 'Tomasz Wójcik', email: null, active: true, last_login: ago(3000), created_at: ago(80_000) }, { username: 'old.account', role: 'reader', full_name: null, email: null, active: false, last_login: null, created_at: ago(70_000) },
  ]
  const cards = (host: string) => DISTRIBUTIONS.map((one, n) => ({ codename: one.codename, format: one.format, label: one.label, component: one.component, architectures: one.archs, description: '', initialized: !scene.empty && n < 4, active: true, publishable: one.format === 'deb', packages: scene.empty || n > 3 ? 0 : [12, 61, 0, 7][n], pending: scene.empty ? 0 : [1, 0, 0, 1][n] ?? 0, quarantined: 0, generation: !scene.empty && n < 4 ? 40 - n : null, published_at: !scene.empty && n < 4 ? ago(n * 400 + 1) : null, client_line: clientSetup(one, { url: `http://${host}` }).line, setup: clientSetup(one, { url: `http://${host}` }).setup }))
  const history = () => items.slice(0, 24).map(one => ({ timestamp: one.created_at, action: one.status === 'quarantined' ? 'QUARANTINE' : 'UPLOAD', result: one.status === 'quarantined' ? 'WARNING' : 'SUCCESS', user: one.uploaded_by, package: one.name, version: one.version, distribution: one.distribution, detail: one.status })).sort((a, b) => b.timestamp.localeCompare(a.timestamp))
  const page = (all: unknown[], url: URL, most = 50) => { const n = Number(url.searchParams.get('page') ?? 1), per = Number(url.searchParams.get('per_page') ?? most); return { items: all.slice((n - 1) * per, n * per), total: all.length, page: n, per_page: per, pages: Math.max(1, Math.ceil(all.length / per)) } }

  function json(res: ServerResponse, status: number, body: unknown, headers = {}): void { res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body)) }
  const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

  async function upload(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('latin1'), filename = /filename="([^"]+)"/.exec(text)?.[1] ?? 'x.deb', distribution = /name="distribution"\r\n\r\n(.*)\r\n/.exec(text)?.[1] ?? ''
    if (scene.limited) { scene.limited = false; return json(res, 429, { detail: { error: 'rate_limit_exceeded', message: 'More than 20 requests a minute. Go on in 24 s.', limit: 20, retry_after: 24 } }, { 'retry-after': '24' }) }
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const tell = (data: unknown): void => { res.write(`data: ${JSON.stringify(data)}\n\n`) }
    const [name = 'x', version = '1', arch = 'amd64'] = filename.replace(/\.deb$/, '').split('_')
    const steps = scene.upload === 'quarantined' ? BAD : scene.upload === 'pending_review' ? HELD : GOOD
    for (const one of steps) {
      tell({ step: one.name, status: 'running', message: 'Looking.' })
      await sleep(120)
      if (scene.upload === 'conflict' && one.name === 'provenance') { tell({ code: 'duplicate_conflict', detail: { error: 'duplicate_conflict', message: `${name} ${version} exists with other bytes. A version is never replaced: raise the version, or delete the old one first.`, incoming_sha256: 'aa'.repeat(32), existing_sha256: 'bb'.repeat(32) } }); return void res.end() }
      const { name: id, ...view } = one
      tell({ step: id, status: { ok: 'passed', warned: 'warning', failed: 'failed', unavailable: 'unavailable' }[one.detail], ...view })
    }
    const state = scene.upload
    tell({ status: state, result: { name, package: name, version, arch, distribution, format: 'deb', status: state, state, pipeline: {}, filename, sha256: 'aa'.repeat(32), size: 9, validation: { passed: true, cve_status: 'approved', deps_missing: [], steps }, cves: [] } })
    res.end()
  }

  const server = createServer((req, res) => { void answer(req, res) })
  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://x'), path = url.pathname.replace(/^\/api\/v1/, ''), key = `${req.method} ${path}`, host = req.headers.host ?? ''
    if (!url.pathname.startsWith('/api/') && path !== '/health') {
      const file = join(dist, normalize(path === '/' ? '/index.html' : path))
      if (!existsSync(file)) return void res.writeHead(404).end()
      res.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain', 'content-security-policy': CSP })
      return void createReadStream(file).pipe(res)
    }
    if (key === 'POST /upload/stream') return upload(req, res)
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, string>
    if (key === 'GET /setup/status') return json(res, 200, { admin_exists: !scene.needsSetup, setup_done: !scene.needsSetup, needs_setup: scene.needsSetup, token_required: scene.tokenRequired })
    if (key === 'POST /setup/') { scene.needsSetup = false; scene.empty = true; return json(res, 201, {}) }
    if (key === 'POST /auth/token') return body.password === 'wrong' ? json(res, 401, { detail: 'User name or password is wrong.', code: 'bad_password', facts: { tries_left: 2 }, request_id: 'r-1' }) : json(res, 200, { access_token: 'stub', token_type: 'bearer' })
    if (key === 'GET /health') return json(res, 200, { status: scene.quiet ? 'healthy' : 'degraded', timestamp: ago(0), version: 'dev', uptime_seconds: 7200, checks: { critical: { manifests: { ok: true, free_gb: 548, total_gb: 960, used_pct: 43 }, pool: { ok: true, free_gb: 548, total_gb: 960, used_pct: 43 }, auth_db: { ok: true, count: 3 }, manifest_db: { ok: true, count: 71 } }, non_critical: { audit: { ok: true }, clamav: scene.quiet ? { ok: true, version: 'ClamAV 1.4.3' } : { ok: false, error: 'clamd does not answer on /run/clamav/clamd.ctl' }, gpg: { ok: true, fingerprint: '7C1F22B890AD44E15B0C3F9AD71608E2A4D961C7' }, scheduler: { ok: true, jobs: [1, 2] }, alembic: { ok: true, version: '0003' } }, info: {} } })
    if (key === 'GET /auth/roles') return json(res, 200, { roles })
    if (req.headers.authorization === undefined) return json(res, 401, { detail: 'This needs a credential.', code: 'not_authenticated' })
    if (key === 'GET /auth/me') return json(res, 200, users()[0])
    if (key === 'GET /auth/users') return json(res, 200, { users: users() })
    if (key === 'GET /auth/api-tokens') return json(res, 200, { tokens: scene.empty ? [] : [{ id: 'tok_9f2c', name: 'ci-release', role: 'uploader', created_at: ago(9000), created_by: 'p.raman', expires_at: new Date(NOW + 9e9).toISOString(), last_used_at: ago(3) }] })
    if (key === 'POST /auth/api-tokens') return json(res, 201, { token: 'svc_4hT9vQeXk2mZ7pLrB1nWc8dYs6gJfUaK', message: 'Shown once.', prefix: 'svc_' })
    if (key === 'GET /distributions/') return json(res, 200, { distributions: cards(host) })
    if (key === 'POST /distributions/init') { await sleep(3000); scene.empty = false; const d = cards(host).slice(0, 4); return json(res, 200, { status: 'ok', message: 'Published jammy, noble, focal, bookworm.', initialized: d.map(one => one.codename), pending: [], key_generated: true, fingerprint: '7C1F22B890AD44E15B0C3F9AD71608E2A4D961C7', distributions: d }) }
    if (key === 'GET /settings/gpg') return json(res, 200, { keys: [{ fingerprint: '7C1F22B890AD44E15B0C3F9AD71608E2A4D961C7', user_id: 'Nordwerk packages <packages@nordwerk.example>', algorithm: 'RSA 4096', created_at: ago(99_999), role: 'current' }] })
    if (key === 'GET /settings/') return json(res, 200, { validation: { max_upload_size_mb: 500 } })
    if (key === 'GET /dashboard/summary') return json(res, 200, scene.empty ? { packages: 0, artifacts: 0, published: 0, pending_reviews: 0, quarantined: 0, rejected: 0, cve_findings: { critical: 0, high: 0, medium: 0, low: 0, negligible: 0, unknown: 0, total: 0 }, recent_activity: [] } : { packages: 71, artifacts: 71, published: 68, pending_reviews: scene.quiet ? 0 : 2, quarantined: 1, rejected: 0, cve_findings: { critical: 1, high: 4, medium: 21, low: 38, negligible: 12, unknown: 2, total: 78 }, recent_activity: history() })
    if (key === 'GET /dashboard/stats') return json(res, 200, { packages: 71, artifacts: 71, by_state: {}, by_distribution: [], by_format: [], storage: { blobs: 71, bytes: 412e9, size_mb: 4 }, uploads_per_day: Array.from({ length: 30 }, (_, n) => ({ day: new Date(Date.now() - (29 - n) * 864e5).toISOString().slice(0, 10), count: scene.empty ? 0 : n * n * 7 % 23 })) })
    if (key === 'GET /dashboard/history') return json(res, 200, page(scene.empty ? [] : history(), url, 30))
    if (key === 'GET /dashboard/events') {
      if (scene.offline) return void req.socket.destroy()
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: hello\ndata: {}\n\n')
      return
    }
    if (key === 'GET /packages/') {
      const q = url.searchParams.get('q') ?? '', state = url.searchParams.get('state'), distribution = url.searchParams.get('distribution')
      return json(res, 200, page(scene.empty ? [] : items.filter(one => one.name.includes(q) && (state ? one.status === state : ['published', 'pending_review'].includes(one.status)) && (!distribution || one.distribution === distribution)), url))
    }
    const artifact = /^\/artifacts\/([^/]+)(\/install|\/dependencies|\/[^/]+)?$/.exec(path), item = items.find(one => one.name === decodeURIComponent(artifact?.[1] ?? ''))
    if (item === undefined) return json(res, 404, { detail: `There is nothing at ${path}.`, code: 'not_found', request_id: 'r-404' })
    if (req.method === 'DELETE') return json(res, 200, { status: 'deleted', deleted: [item], published: true })
    if (artifact?.[2] === '/install') return json(res, 200, { ...item, installable: item.status === 'published', command: `sudo apt-get install ${item.name}=${item.version}`, setup: clientSetup(DISTRIBUTIONS[0]!, { url: `http://${host}` }).setup, client_line: '', commands: {} })
    if (artifact?.[2] === '/dependencies') return json(res, 200, { ...item, all_satisfied: false, missing: ['libc6 (>= 2.34)'], install_blocked: false, dependencies: [{ need: 'libc6 (>= 2.34)', status: 'missing', by: null }, { need: 'zlib1g', status: 'satisfied', by: { name: 'zlib1g', version: '1:1.2.13', status: 'published' } }] })
    const versions = [item, { ...item, version: `${item.version}~rc1`, status: 'published', created_at: ago(99_000) }]
    return json(res, 200, { name: item.name, format: 'deb', summary: item.summary, description: '', latest: item.version, status: item.status, cve_status: '', security_status: '', severity: item.severity, distributions: [item.distribution], versions_total: 2, updated_at: item.updated_at, versions: versions.map(detail) })
  }
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, scene, stop: () => new Promise(resolve => { server.closeAllConnections(); server.close(() => resolve()) }) }
}
