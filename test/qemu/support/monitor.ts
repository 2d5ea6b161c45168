import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** The monitor of a QEMU, by QMP (a line of JSON for each command and each answer). */
export interface Monitor {
  /** @throws Error with what QEMU says where it refuses */
  ask(command: string, args?: Readonly<Record<string, unknown>>): Promise<unknown>
  close(): void
}

interface Line {
  readonly return?: unknown
  readonly error?: { readonly desc: string }
}

/** @param path  its unix socket */
export async function openMonitor(path: string): Promise<Monitor> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const made = connect(path, () => resolve(made)).once('error', reject)
  })
  const waiting: ((line: Line) => void)[] = []
  const endAll = (): void => waiting.splice(0).forEach(answer => answer({ error: { desc: 'QEMU has ended' } }))
  socket.on('error', endAll).on('close', endAll)
  createInterface(socket)
    .on('line', text => {
      const line = JSON.parse(text) as Line
      // greeting and events are not asked for
      if ('return' in line || line.error !== undefined) waiting.shift()?.(line)
    })
    // it passes on the socket's, which ends here with each cut of the power
    .on('error', endAll)
  async function ask(execute: string, args: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    if (socket.destroyed) throw new Error(`${execute}: QEMU has ended`)
    const answered = new Promise<Line>(resolve => waiting.push(resolve))
    socket.write(`${JSON.stringify({ execute, arguments: args })}\n`)
    const line = await answered
    if (line.error !== undefined) throw new Error(`${execute}: ${line.error.desc}`)
    return line.return
  }
  await ask('qmp_capabilities')
  return { ask, close: () => void socket.destroy() }
}
