import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

/** nginx as Debian ships it, in front of daemons as docs/operations.md has it. */
export interface FrontServer {
  readonly url: string
  close(): Promise<void>
}

const TEMPS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/** @param ports  of the daemons */
export async function startFront(folder: string, ports: readonly string[]): Promise<FrontServer> {
  const port = await freePort()
  await mkdir(folder)
  await writeFile(
    join(folder, 'nginx.conf'),
    `worker_processes 1; daemon off; ${process.getuid?.() === 0 ? 'user root; ' : ''}pid ${folder}/pid; error_log ${folder}/error.log warn;
events { worker_connections 2048; }
http {
  access_log off; client_max_body_size 0;
  ${TEMPS.map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}
  upstream gatehouse { ${ports.map(one => `server 127.0.0.1:${one} max_fails=1 fail_timeout=1s;`).join(' ')} }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://gatehouse;
      proxy_request_buffering off; proxy_buffering off; proxy_http_version 1.1; proxy_read_timeout 120s; proxy_connect_timeout 2s;
      proxy_next_upstream error timeout http_503 non_idempotent;
    }
  }
}`,
  )
  const child: ChildProcess = spawn('nginx', ['-p', folder, '-c', 'nginx.conf'], { stdio: 'ignore' })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const url = `http://127.0.0.1:${port}`
  while ((await fetch(url).catch(() => undefined)) === undefined)
    if (child.exitCode !== null) throw new Error('nginx did not start')
  return {
    url,
    close: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
