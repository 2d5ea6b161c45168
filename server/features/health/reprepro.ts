import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

export interface RepreproDeps {
  /** The value of PATH. */
  readonly path: string
  readonly isPublisher: boolean
  /** Runs a program and gives what it printed, both streams. Called once per installed binary. */
  readonly run: (file: string, args: readonly string[]) => Promise<string>
}

async function findProgram(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter).filter(part => part.startsWith('/'))) {
    const file = join(folder, name)
    if (
      await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return file
  }
  return undefined
}

/**
 * Says whether reprepro is installed. Looks at the file each time and asks its version only when the file has changed.
 */
export function createRepreproProbe({
  path,
  isPublisher,
  run,
}: RepreproDeps): () => Promise<{ readonly version: string | undefined; readonly isPublisher: boolean }> {
  let known: { readonly stamp: string; readonly version: string } | undefined
  return async () => {
    const file = await findProgram('reprepro', path)
    if (file === undefined) return { version: undefined, isPublisher }
    const { mtimeMs, size } = await stat(file)
    const stamp = `${file} ${mtimeMs} ${size}`
    // `reprepro: This is reprepro version 5.3.1`
    if (known?.stamp !== stamp)
      known = { stamp, version: /version (\S+)/.exec(await run(file, ['--version']))?.[1] ?? 'unknown' }
    return { version: known.version, isPublisher }
  }
}
