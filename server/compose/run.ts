import { compose } from '../compose.ts'
import type { Env } from '../env.ts'
import type { ComposeOptions, Service } from './service.ts'

/** The service as whoever started it sees it. */
export interface Running {
  readonly url: string
  readonly needsSetup: boolean
  stop(): Promise<void>
}

/**
 * Runs the service. When a backup is to be restored it stops in order, keeps the port, on which it serves the trees as
 * they are, and is composed again: its start restores before anything else.
 * @param onBroken  called when that fails: nothing serves requests any longer
 */
export async function run(
  env: Env,
  options: Pick<ComposeOptions, 'uiFolder' | 'engines'>,
  onBroken: (error: unknown) => void,
): Promise<Running> {
  let service: Service
  let isStopping = false
  let again: Promise<void> = Promise.resolve()
  const onRestore = (): void => {
    if (!isStopping) again = takeOver().catch(onBroken)
  }
  async function takeOver(): Promise<void> {
    const lasting = await service.hold('a backup is being restored')
    service = await compose(env, { ...options, onRestore, lasting })
    await service.start()
  }
  service = await compose(env, { ...options, onRestore })
  return {
    ...(await service.start()),
    async stop() {
      isStopping = true
      await again
      await service.stop()
    },
  }
}
