import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { makeBundle, sourceDate } from '../../../appliance/bundle.ts'
import { debianRoot, SUITES, type Suite } from '../../../appliance/debian-root.ts'
import { setup as buildConsole } from '../../ui/support/built.ts'
import { whyNot } from './lacking.ts'
import { createRoot, type Root } from './root.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** What suites that need an appliance are given; `lacking` says why they cannot run here. */
    appliance: {
      readonly lacking?: string
      readonly debian: string
      readonly bundle: string
      /** The layers of an image's root, as `provision.sh --image` leaves it. */
      readonly image: string
      readonly suite: Suite
    }
  }
}

const ROOT = join(import.meta.dirname, '../../..')
const CACHE = join(ROOT, '.cache', 'appliance')

/** The Debian that is tested: APPLIANCE_SUITE, by default the newest. */
function suiteOf(name: string | undefined): Suite {
  const found = SUITES.find(suite => suite === (name ?? 'trixie'))
  if (found === undefined) throw new Error(`APPLIANCE_SUITE is one of ${SUITES.join(', ')}`)
  return found
}

/** Undefined where mmdebstrap cannot make one; it has said why. */
function makeDebian(suite: Suite): string | undefined {
  try {
    return debianRoot({ suite, lists: ['service', 'system'], cache: CACHE })
  } catch {
    return undefined
  }
}

const out = join(CACHE, `test-${process.pid}`)
let image: Root | undefined

/** Runs once before the suites: the product's bundle, a root of Debian from the cache, and an image's root of both. */
export async function setup(project: TestProject): Promise<void> {
  const suite = suiteOf(process.env.APPLIANCE_SUITE)
  const skip = (lacking: string): void =>
    project.provide('appliance', { lacking, debian: '', bundle: '', image: '', suite })
  const lacking = whyNot()
  if (lacking !== undefined) return skip(lacking)
  const debian = makeDebian(suite)
  if (debian === undefined) return skip('needs an archive of Debian that mmdebstrap can fetch from')
  buildConsole()
  const bundle = makeBundle({ out, date: sourceDate(undefined), console: join(ROOT, 'ui', 'dist'), level: 1 })
  const root = await createRoot(debian, bundle)
  image = root
  const { code, out: said, err } = await root.provision('--image')
  if (code !== 0) throw new Error(`provision.sh --image ended with ${code}: ${said}${err}`)
  await rm(join(root.folder, 'provision'), { recursive: true })
  project.provide('appliance', { debian, bundle, image: root.freeze(), suite })
}

export async function teardown(): Promise<void> {
  await image?.close()
  await rm(out, { recursive: true, force: true })
}
