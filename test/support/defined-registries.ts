import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Codename } from '../../server/core/identity.ts'
import type { Distribution } from '../../server/core/repository.ts'
import { getFormat } from '../../server/formats/index.ts'
import type { Daemon } from './daemon.ts'

/** A hosted registry as an admin makes one. */
export function hostedRegistry(codename: string, format: string): Distribution {
  return {
    kind: 'registry',
    registry: { kind: 'hosted' },
    codename: codename as Codename,
    format,
    label: `Registry ${codename}`,
    archs: [],
    neutral: getFormat(format).archs.neutral,
    components: ['main'],
    release: { suite: codename, origin: 'Gatehouse', label: 'Gatehouse', description: `Registry ${codename}` },
    scanner: undefined,
    state: 'active',
    builtin: false,
  }
}

/** Puts definitions below a root on which no daemon has run yet: it takes them from there, as after a lost database. */
export async function defineRegistries(root: string, registries: readonly Distribution[]): Promise<void> {
  await mkdir(root, { recursive: true })
  await writeFile(join(root, 'distributions.json'), JSON.stringify(registries))
}

/** A version of a registry that a person decides on. */
export interface Decided {
  readonly token: string
  readonly registry: string
  readonly name: string
  readonly version: string
  readonly action: 'approve' | 'reject' | 'quarantine'
  /** `any` by default. */
  readonly arch?: string
}

/** Decides as a person in the console does. @throws Error with the answer where that is refused */
export async function decideVersion(daemon: Daemon, decided: Decided): Promise<void> {
  const { token, registry, name, version, action, arch = 'any' } = decided
  const at = `/security/packages/${encodeURIComponent(name)}/${encodeURIComponent(version)}`
  const where = { distribution: registry, arch, justification: 'It was looked at for this test.' }
  const answer =
    action === 'quarantine'
      ? await daemon.call('POST', `${at}/quarantine`, { token, body: where })
      : await daemon.call('POST', `${at}/decide`, {
          token,
          body: { ...where, decision: action },
        })
  if (answer.status >= 300) throw new Error(`${action} of ${name} ${version}: ${answer.status} ${answer.text}`)
}
