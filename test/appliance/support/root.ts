import { cp, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { insideOf, layOver, type OwnRoot } from '../../../appliance/own-root.ts'
import { mustRun, run, type Ran } from '../../support/tools.ts'

const APPLIANCE = join(import.meta.dirname, '../../../appliance')

/** A root of its own over another one, which stays as it is. */
export interface Root {
  readonly folder: string
  /** Runs a program inside, without a network. */
  inside(...command: readonly string[]): Promise<Ran>
  /** A line for each path: type, mode, owner, size, link, and for files their time. */
  list(): Promise<string[]>
  read(path: string): Promise<string>
  /** Ends all changes. @returns its layers, for roots over it */
  freeze(): string
  close(): Promise<void>
}
export interface Provisioned extends Root {
  /** Runs `provision.sh` inside, without a network. */
  provision(...options: readonly string[]): Promise<Ran>
}

const ownFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'gatehouse-appliance-'))

/** A root of Debian, with what `provision` needs. */
export async function createRoot(debian: string, bundle: string): Promise<Provisioned> {
  const root = rootOf(layOver(debian, await ownFolder()))
  const { folder, inside } = root
  await cp(APPLIANCE, join(folder, 'provision'), { recursive: true })
  await cp(bundle, join(folder, 'provision', basename(bundle)))
  return {
    ...root,
    provision: (...options) => inside('/provision/provision.sh', ...options, `/provision/${basename(bundle)}`),
  }
}

/** @param image  the layers of an image's root that was never started */
export const createImageRoot = async (image: string): Promise<Root> => rootOf(layOver(image, await ownFolder()))

function rootOf(own: OwnRoot): Root {
  const { folder } = own
  const inside = (...command: readonly string[]): Promise<Ran> => run(...insideOf(folder, command))
  return {
    folder,
    inside,
    async list() {
      const format = '%y %m %U:%G %s %p %l'
      const found = (types: string, form: string): Promise<string> =>
        mustRun(
          'find',
          ['.', '-xdev', '-path', './provision', '-prune', '-o', '-type', types, '-printf', `${form}\n`],
          {
            cwd: folder,
          },
        )
      return `${await found('f', `${format} %T@`)}${await found('l', format)}${await found('d', '%y %m %U:%G %p')}`
        .split('\n')
        .sort()
    },
    read: path => readFile(join(folder, path), 'utf8'),
    freeze: () => own.freeze(),
    close: async () => own.close(),
  }
}
