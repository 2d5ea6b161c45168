import { describe, expect, test } from 'vitest'
import { readDockerfile } from './dockerfile.ts'

const names = (text: string): string[] =>
  readDockerfile(text).installed.map(({ manager, name }) => `${manager} ${name}`)

describe('what a Dockerfile installs', () => {
  test.each<[string, string, string[]]>([
    ['one line', 'RUN apt-get update && apt-get install -y nginx curl', ['apt nginx', 'apt curl']],
    [
      'lines that go on, with comments between',
      'RUN apt-get install -y --no-install-recommends \\\n  # a comment\n  nginx \\\n\n  libssl3:amd64=3.0.* \\\n  && rm -rf /var/lib/apt/lists/*',
      ['apt nginx', 'apt libssl3'],
    ],
    [
      'versions and architectures are cut',
      'RUN apt install libssl3:amd64=3.0.1 vim/bookworm',
      ['apt libssl3', 'apt vim'],
    ],
    ['options with a value', 'RUN apt-get -o Dpkg::Use-Pty=0 install -t bookworm-backports git', ['apt git']],
    [
      'dnf and microdnf',
      'RUN dnf -y install httpd-2.4.57-5.el9 php.x86_64; microdnf install jq',
      ['rpm httpd', 'rpm php', 'rpm jq'],
    ],
    [
      'apk, with a virtual group',
      "RUN apk add --no-cache --virtual .build 'openssl>1.1' bash~5",
      ['apk openssl', 'apk bash'],
    ],
    ['the exec form', 'RUN ["apt-get", "install", "-y", "git"]', ['apt git']],
    ['the exec form of a shell', 'RUN ["/bin/bash", "-c", "apt-get install -y git | tee log"]', ['apt git']],
    ['a mount before it', 'RUN --mount=type=cache,target=/var apt-get install -y git', ['apt git']],
    ['each once', 'RUN apt install git\nRUN apt install git', ['apt git']],
    ['nothing where none is named', 'RUN apt-get update && apt-get remove vim\nCMD apt-get install x', []],
    ['variables and files are no names', 'RUN apt-get install $PKGS ./local.deb https://example.org/a.deb', []],
    ['a pipe ends it', 'RUN apt-get install git | tee install.log', ['apt git']],
  ])('%s', (_, text, expected) => expect(names(text)).toEqual(expected))

  test('its image is the last one that is no stage of it', () => {
    const text = 'FROM --platform=linux/amd64 golang:1.22 AS build\nFROM debian:bookworm-slim AS base\nFROM base'
    expect(readDockerfile(text).image).toBe('debian:bookworm-slim')
    expect(readDockerfile('RUN x').image).toBeUndefined()
  })

  test('a text of half a million characters is read', () => {
    expect(names(`RUN apt-get install ${'a b '.repeat(125_000)}`)).toEqual(['apt a', 'apt b'])
    expect(names('\\\n'.repeat(250_000))).toEqual([])
    expect(names(`RUN ${'"'.repeat(500_000)}`)).toEqual([])
  })
})
