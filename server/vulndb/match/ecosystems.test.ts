import { expect, test } from 'vitest'
import { ecosystemOf, listScanners } from './ecosystems.ts'

test('scanner identifiers are those of the default set, of Debian, and of what is loaded', () => {
  const bare = listScanners([])
  expect(bare).toEqual(
    expect.arrayContaining(['debian:13', 'debian:14', 'ubuntu:24.04', 'opensuse.tumbleweed:rolling']),
  )
  const loaded = [
    'redhat-7',
    'opensuse-leap-15.5',
    'alpine-3.17',
    'opensuse-tumbleweed',
    'npm',
    'nobody-1',
    'debian-13',
  ]
  expect(listScanners(loaded).filter(one => !bare.includes(one))).toEqual([
    'alpine:3.17',
    'centos:7',
    'opensuse.leap:15.5',
    'redhat:7',
  ])
  for (const scanner of listScanners(loaded)) expect(ecosystemOf({ scanner }).ecosystem).not.toBe('none')
})
