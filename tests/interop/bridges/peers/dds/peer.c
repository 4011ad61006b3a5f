/* A stock Cyclone DDS program with the topic `ticks` of Worlds.idl, which `floe slice idl` made of Worlds.ice.
 *
 *   peer subscribe DOMAIN COUNT
 *   peer publish DOMAIN WORLD SEED...
 *
 * The first prints `ready` when it knows the bridge's writer, then each event as a line of JSON, and ends after COUNT; the
 * second publishes the event of each seed, and ends when all are acknowledged.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dds/dds.h"
#include "Worlds.h"

static dds_entity_t participant, topic;

static void check(dds_return_t code, const char *what) {
  if (code >= 0) return;
  fprintf(stderr, "%s: %s\n", what, dds_strretcode(-code));
  exit(1);
}

/* The participant is the bridge: its GUID begins with no vendor's number, as those of Cyclone do. */
static int is_bridge(dds_builtintopic_endpoint_t *endpoint) {
  int is_it = endpoint != NULL && endpoint->participant_key.v[0] == 0 && endpoint->participant_key.v[1] == 0;
  if (endpoint != NULL) dds_builtintopic_free_endpoint(endpoint);
  return is_it;
}

static int reads_from_bridge(dds_entity_t reader) {
  dds_instance_handle_t writers[16];
  int32_t count = dds_get_matched_publications(reader, writers, 16);
  for (int32_t i = 0; i < count && i < 16; i++)
    if (is_bridge(dds_get_matched_publication_data(reader, writers[i]))) return 1;
  return 0;
}

static int writes_to_bridge(dds_entity_t writer) {
  dds_instance_handle_t readers[16];
  int32_t count = dds_get_matched_subscriptions(writer, readers, 16);
  for (int32_t i = 0; i < count && i < 16; i++)
    if (is_bridge(dds_get_matched_subscription_data(writer, readers[i]))) return 1;
  return 0;
}

static void publish(const char *world, int64_t seed, dds_entity_t writer) {
  char venue[128], text[128];
  uint8_t raw[6] = {0, 1, 127, 128, 255, (uint8_t)(seed % 256)};
  Worlds_Level levels[2] = {{seed + 0.25, -1099511627776 - seed}, {-0.5, 9007199254740993}};
  Worlds_Tick tick;
  memset(&tick, 0, sizeof tick);
  snprintf(venue, sizeof venue, "Zürich 東京 %s", world);
  snprintf(text, sizeof text, "naïve ✓ %s %" PRId64, world, seed);
  tick.side = seed % 2 ? Worlds_Side_sell : Worlds_Side_buy;
  tick.venue.name = venue;
  tick.venue.line = (int32_t)seed;
  tick.book._buffer = levels;
  tick.book._length = tick.book._maximum = 2;
  tick.raw._buffer = raw;
  tick.raw._length = tick.raw._maximum = 6;
  tick.firm = seed % 2 != 0;
  tick.id = 4611686018427387904 + seed;
  tick.price = (double)seed / 8.0;
  tick.text = text;
  check(dds_write(writer, &tick), "write");
}

static void print_string(const char *text) {
  putchar('"');
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    putchar(*text);
  }
  putchar('"');
}

static void print_double(double value) {
  char text[40];
  snprintf(text, sizeof text, "%.17g", value);
  fputs(text, stdout);
  if (strpbrk(text, ".e") == NULL) fputs(".0", stdout);
}

static void print(const Worlds_Tick *tick) {
  printf("{\"side\":\"%s\",\"venue\":{\"name\":", tick->side == Worlds_Side_buy ? "buy" : "sell");
  print_string(tick->venue.name);
  printf(",\"line\":%d},\"book\":[", tick->venue.line);
  for (uint32_t i = 0; i < tick->book._length; i++) {
    printf("%s{\"price\":", i ? "," : "");
    print_double(tick->book._buffer[i].price);
    printf(",\"size\":%" PRId64 "}", tick->book._buffer[i].size);
  }
  printf("],\"raw\":\"");
  for (uint32_t i = 0; i < tick->raw._length; i++) printf("%02x", tick->raw._buffer[i]);
  printf("\",\"firm\":%s,\"id\":%" PRId64 ",\"price\":", tick->firm ? "true" : "false", tick->id);
  print_double(tick->price);
  printf(",\"text\":");
  print_string(tick->text);
  printf("}\n");
}

static void subscribe(dds_qos_t *qos, long count) {
  dds_entity_t reader = dds_create_reader(participant, topic, qos, NULL);
  check(reader, "reader");
  while (!reads_from_bridge(reader)) dds_sleepfor(DDS_MSECS(5));
  puts("ready");
  while (count > 0) {
    void *samples[16] = {0};
    dds_sample_info_t infos[16];
    int32_t taken = dds_take(reader, samples, infos, 16, 16);
    check(taken, "take");
    for (int32_t i = 0; i < taken; i++) {
      if (!infos[i].valid_data) continue;
      print(samples[i]);
      count--;
    }
    if (taken > 0) check(dds_return_loan(reader, samples, taken), "loan");
    else dds_sleepfor(DDS_MSECS(1));
  }
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(50));
  dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
  participant = dds_create_participant((dds_domainid_t)atoi(argv[2]), NULL, NULL);
  check(participant, "participant");
  topic = dds_create_topic(participant, &Worlds_Tick_desc, "ticks", NULL, NULL);
  check(topic, "topic");
  if (strcmp(argv[1], "subscribe") == 0) {
    subscribe(qos, atol(argv[3]));
  } else {
    dds_entity_t writer = dds_create_writer(participant, topic, qos, NULL);
    check(writer, "writer");
    while (!writes_to_bridge(writer)) dds_sleepfor(DDS_MSECS(5));
    for (int i = 4; i < argc; i++) publish(argv[3], atoll(argv[i]), writer);
    check(dds_wait_for_acks(writer, DDS_SECS(50)), "acknowledgements");
  }
  dds_delete_qos(qos);
  check(dds_delete(participant), "delete");
  return 0;
}
