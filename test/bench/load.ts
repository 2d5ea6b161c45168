import { connect, type Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

/** Requests of one kind, over and over, for a fixed time. */
export interface Load {
  readonly port: number
  readonly path: string
  /** Lines of the request beside Host, each with its end of line. */
  readonly headers: string
  readonly connections: number
  readonly ms: number
}

/** What came back. */
export interface Received {
  readonly answers: number
  readonly bytes: number
  /** The first status that was neither 200 nor 304. */
  readonly odd: string | undefined
}

/** Answers on one connection: reads the head, skips the body by its announced length. */
function createReader(onAnswer: (status: string) => void): (chunk: Buffer) => void {
  let head = ''
  let left = 0
  return chunk => {
    let at = 0
    while (at < chunk.length) {
      if (left > 0) {
        const step = Math.min(left, chunk.length - at)
        left -= step
        at += step
        if (left === 0) onAnswer('200')
        continue
      }
      const end = chunk.indexOf('\r\n\r\n', at)
      head += chunk.toString('latin1', at, end === -1 ? chunk.length : end)
      if (end === -1) return
      at = end + 4
      const status = head.slice(9, 12)
      left = status === '304' ? 0 : Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      head = ''
      if (left === 0 || status !== '200') onAnswer(status)
    }
  }
}

/** A client that costs little per byte: wrk reads 8 KiB at a time and is slower than a server of large files. */
async function run({ port, path, headers, connections, ms }: Load): Promise<Received> {
  const request = `GET ${path} HTTP/1.1\r\nHost: bench\r\n${headers}\r\n`
  const sockets: Socket[] = []
  const buffer = Buffer.allocUnsafeSlow(256 * 1024) // one for all: it is read before the next piece comes
  let [answers, bytes] = [0, 0]
  let odd: string | undefined
  await new Promise<void>((resolve, reject) => {
    setTimeout(resolve, ms)
    for (let n = 0; n < connections; n++) {
      const read = createReader(status => {
        answers += 1
        if (status !== '200' && status !== '304') odd ??= status
        socket.write(request)
      })
      const onread = {
        buffer,
        callback: (length: number): boolean => {
          bytes += length
          read(buffer.subarray(0, length))
          return true
        },
      }
      const socket: Socket = connect({ port, host: '127.0.0.1', onread }, () => socket.write(request))
      socket.on('error', reject)
      sockets.push(socket)
    }
  })
  for (const socket of sockets) socket.destroy()
  return { answers, bytes, odd }
}

parentPort?.postMessage(await run(workerData as Load))
