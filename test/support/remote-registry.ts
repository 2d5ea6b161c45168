import type { LicencePolicy } from '../../server/core/licences/policy.ts'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import type { StepName } from '../../server/core/report.ts'
import type { Finding } from '../../server/core/findings.ts'
import type { Codename } from '../../server/core/identity.ts'
import type { RegistryRules } from '../../server/core/registry.ts'
import { createRepositories, type Distribution, type Repositories } from '../../server/core/repository.ts'
import { createSpool } from '../../server/files/spool.ts'
import { createUnpackedCopies } from '../../server/files/unpacked.ts'
import { createArrivals } from '../../server/lib/arrivals.ts'
import { createDigestThreads } from '../../server/lib/digest.ts'
import { createSecretBox } from '../../server/lib/secret-box.ts'
import { createAgents } from '../../server/outbound/exchange/agents.ts'
import { createBucket } from '../../server/outbound/exchange/bucket.ts'
import { createExchange } from '../../server/outbound/exchange/exchange.ts'
import { PATIENCE } from '../../server/outbound/exchange/patience.ts'
import { createHostGuard } from '../../server/outbound/guard.ts'
import { formatStep } from '../../server/pipeline/format-check.ts'
import { createGate } from '../../server/pipeline/gate.ts'
import { createPackageSigning } from '../../server/pipeline/package-signing.ts'
import type { Step } from '../../server/pipeline/subject.ts'
import { createUnpacking } from '../../server/pipeline/unpacking.ts'
import { createRemote, type Remote } from '../../server/registries/remote/remote.ts'
import { sealSecret } from '../../server/registries/remote/secret.ts'
import { proxyRegistry, startRegistryUpstream, type RegistryUpstream } from './registry-upstream.ts'
import { createStock, type Stock } from './test-catalog.ts'

/** What a test says of the engines, the policy and the upstream's data; all of it may change meanwhile. */
export interface RemoteGiven {
  /** What is known of a version, to the index and to the gate alike. */
  findings: (version: string) => readonly Finding[]
  /** Another one for other data. */
  generation: string
  action: 'block' | 'review' | 'allow'
  /** What another engine says when the bytes are here. */
  engine: Pick<Awaited<ReturnType<Step['run']>>, 'outcome' | 'said'>
  grypeScan: boolean
  licences: LicencePolicy
}

/** A registry that reads through, over a real database and files; the network is a server of this process. */
export interface RemoteRegistry {
  readonly stock: Stock
  readonly repositories: Repositories
  readonly upstream: RegistryUpstream
  readonly remote: Remote
  readonly given: RemoteGiven
  registry(rules?: Omit<RegistryRules, 'kind' | 'upstream'> & { readonly path?: string }): Distribution
  /** Takes what was kept from the memory of the process away, as a restart does. */
  restart(): Promise<void>
  /** Files that are on their way in. */
  incoming(): Promise<readonly string[]>
  /** Gives it a credential. */
  setSecret(secret: string): Promise<void>
  close(): Promise<void>
}

export const finding = (id: string, severity: Finding['severity'], more: Partial<Finding> = {}): Finding => ({
  ...{ id, package: 'n', severity, detected_by: ['test'] },
  ...more,
})

export async function createRemoteRegistry(): Promise<RemoteRegistry> {
  const upstream = await startRegistryUpstream()
  const codename = 'outside' as Codename
  const registry: RemoteRegistry['registry'] = ({ path = '', ...rules } = {}) =>
    proxyRegistry(codename, 'npm', { url: `${upstream.url}${path}`, ...rules })
  const repositories = createRepositories([registry()])
  const stock = await createStock({ repositories })
  const { db, catalog, layout, events, clock } = stock
  await db.query(
    'insert into distribution_definition (codename, definition, changed_by, changed_at) values ($1, $2, $3, $4)',
    [codename, JSON.stringify(registry()), 'ada', clock.now()],
  )
  const given: RemoteGiven = {
    ...{ findings: () => [], generation: '1', action: 'block', grypeScan: true },
    licences: { forbidden: '', action: 'review', undeclared_action: 'allow' },
    engine: { outcome: 'ok', said: 'Nothing was found.' },
  }
  const settings = {
    now: () =>
      ({
        validation: { grype_scan: given.grypeScan, max_upload_size_mb: 1, on_scanner_unavailable: 'hold' },
        cve_policy: { critical: given.action, high: 'review', medium: 'warn', low: 'allow', malicious_action: 'block' },
        script_policy: {},
        license_policy: given.licences,
      }) as never,
  }
  const report = (step: StepName, run: () => Partial<Awaited<ReturnType<Step['run']>>>): Step => ({
    name: step,
    run: () => Promise.resolve({ step, outcome: 'ok', verdict: 'clean', said: '', ...run() }),
  })
  const steps: Step[] = [
    formatStep(db),
    report('provenance', () => ({})),
    report('antivirus', () => given.engine),
    {
      name: 'vulnerabilities',
      run: async (subject, signal) => {
        const { identity } = await subject.inspected(signal)
        const findings = given.findings(identity.version)
        const outcome = findings.length === 0 ? 'ok' : 'findings'
        return { step: 'vulnerabilities', outcome, verdict: 'x', said: 'Looked up.', findings } as never
      },
    },
  ]
  const threads = createDigestThreads({ threads: 1 })
  const spool = createSpool({ layout, random: randomBytes, threads })
  const keyring = { keys: async () => [], signer: async () => ({ keys: [] }) as never }
  const gate = createGate({
    ...{ steps, catalog, settings, clock, arrivals: createArrivals(), unpacking: createUnpacking() },
    signing: createPackageSigning({ spool, keyring, settings, clock }),
    copies: createUnpackedCopies(layout.incoming),
    contents: { read: () => Promise.reject(new Error('nobody reads it here')) },
  })
  const allow = (): string => '127.0.0.1'
  const agents = createAgents(() => ({ url: '', except: '' }))
  const exchange = createExchange({
    ...{ agents, allow, patience: PATIENCE, userAgent: 'test', ownAddresses: () => [] },
    guard: createHostGuard({ lookup: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]), allow }),
    bucket: createBucket({ bytesPerSecond: () => 0 }),
  })
  const box = createSecretBox('a secret of this test')
  const silent = { warn: () => undefined, error: () => undefined, info: () => undefined, debug: () => undefined }
  const start = (): Remote =>
    createRemote({
      ...{ db, catalog, gate, spool, layout, repositories, settings, events, clock, exchange, box },
      metrics: { uploaded: () => undefined, found: () => undefined },
      matcher: {
        coverage: async () => ({ coverage: 'covered' }) as never,
        match: async (_, packages) => packages.map(({ version }) => given.findings(version)),
        generation: async () => given.generation,
      },
      log: silent as never,
    })
  let remote = start()
  return {
    ...{ stock, repositories, upstream, given, registry },
    get remote() {
      return remote
    },
    async restart() {
      await remote.close()
      remote = start()
    },
    incoming: () => readdir(layout.incoming),
    async setSecret(secret) {
      await db.query(
        `insert into registry_secret (codename, sealed) values ($1, $2)
        on conflict (codename) do update set sealed = excluded.sealed`,
        [codename, sealSecret(box, upstream.url, secret)],
      )
    },
    async close() {
      await remote.close()
      agents.close()
      await threads.close()
      await stock.close()
      await upstream.close()
    },
  }
}
